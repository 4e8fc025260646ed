package io.cqring.simnic.workload;

/**
 * A workload that cannot be used. The message is one line, ready to be shown to the person who wrote the file: it names
 * the file, the line where there is one, the offending value and the rule it breaks. Nothing of the workload was run.
 */
public final class WorkloadException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    WorkloadException(String message) {
        super(message);
    }

    WorkloadException(String message, Throwable cause) {
        super(message, cause);
    }

    static WorkloadException atLine(String name, long line, String problem) {
        return atLine(name, line, problem, null);
    }

    static WorkloadException atLine(String name, long line, String problem, Throwable cause) {
        return new WorkloadException(OneLine.whole(name) + " line " + line + ": " + problem, cause);
    }
}
