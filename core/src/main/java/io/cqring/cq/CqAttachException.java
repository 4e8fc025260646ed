package io.cqring.cq;

/**
 * A region cannot be attached: it holds no completion queue, or none that this version can work with, or one whose indices
 * make no sense. The message names the value and the rule. Nothing in the region has been changed, no slot has been touched.
 */
public final class CqAttachException extends IllegalStateException {
    private static final long serialVersionUID = 1L;

    /** Whether the region may yet become a queue. */
    private final boolean unfinished;

    CqAttachException(String message, boolean unfinished) {
        super(message);
        this.unfinished = unfinished;
    }

    /**
     * Whether the region holds no queue yet. Its creator is still at it: attach again later; or it died half-way: delete the
     * file and create the queue anew.
     *
     * @return true if it may yet become a queue, false if waiting is of no use
     */
    public boolean isUnfinished() {
        return unfinished;
    }
}
