package io.cqring.cq;

/** Takes one completion at a time from {@link CompletionQueue#poll} or {@link CompletionPoller#poll}. */
@FunctionalInterface
public interface CompletionHandler {
    /**
     * Called once per completion, oldest first, on the polling thread.
     *
     * <p>The entry counts as consumed from here on, also if this method throws: the exception reaches the caller of
     * {@code poll} and the next poll goes on with the next entry. Polling the same queue (with many pollers: with the same
     * poller) from within is refused.
     *
     * @param completion a view of the entry, valid during this call only
     */
    void onCompletion(Completion completion);
}
