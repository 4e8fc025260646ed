package io.cqring.notify;

/** Where a {@link CompletionConsumer} runs its handler: the poll contexts of the kernel's completion queues. */
public enum ConsumerContext {
    /** In {@link CompletionConsumer#process}, on the caller's thread. The queue is never armed. */
    DIRECT,

    /** On the thread that waits: in {@link CompletionConsumer#runOnce} and {@link CompletionConsumer#runUntilClosed}. */
    INTERRUPT,

    /** In tasks of an {@link java.util.concurrent.Executor}, one at a time; the thread that waits only starts them. */
    WORKER
}
