package io.cqring.simnic;

/**
 * The device refused a control command, or did not answer in time; the message names the value and the rule. A
 * refused command changed nothing. One that was not answered was withdrawn before the device began it, so it changed
 * nothing either.
 */
public final class CommandException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    CommandException(String message) {
        super(message);
    }

    CommandException(String message, Throwable cause) {
        super(message, cause);
    }
}
