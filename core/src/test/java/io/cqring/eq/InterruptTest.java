package io.cqring.eq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.memory.QueueMemory;
import io.cqring.testing.FieldBug;
import io.cqring.testing.Threads;
import java.lang.reflect.Method;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;

/** Raising and waiting, as a caller sees it. The race itself is WakeStress's and EventInterleavingTest's. */
class InterruptTest {
    private static final long LONG_NS = 100_000_000_000L;
    private static final int WAITER = 128;

    private final QueueMemory memory = QueueMemory.allocate(Interrupt.REQUIRED_BYTES);
    private final Interrupt interrupt = new Interrupt(memory, null);

    private void awaitWaiter(Threads.Spin spin) {
        while (memory.getLongOpaque(WAITER) != 2) {
            spin.once();
        }
    }

    @Test
    void shouldReturnAtOnceIfThereWasARaiseSinceTheCount() throws InterruptedException {
        long seen = interrupt.count();
        assertEquals(0, seen);
        interrupt.raise();
        assertTrue(interrupt.await(seen, Long.MAX_VALUE));
        assertTrue(interrupt.await(seen, 0));
        assertEquals(1, interrupt.count());
        assertFalse(interrupt.await(1, 0));
        assertFalse(interrupt.await(1, 1));
        assertEquals(0, interrupt.spuriousWakeups());
    }

    @Test
    void shouldWakeTheThreadThatWaits() {
        for (int round = 0; round < 200; round++) {
            Threads.run(
                    spin -> {
                        long seen = interrupt.count();
                        assertTrue(interrupt.await(seen, LONG_NS));
                        assertEquals(seen + 1, interrupt.count());
                    },
                    spin -> {
                        awaitWaiter(spin);
                        interrupt.raise();
                    });
        }
        assertEquals(200, interrupt.count());
        assertEquals(0, memory.getLong(WAITER), "nobody waits");
    }

    /** Two threads call each other, one after the other, without any time between: each wake-up counts. */
    @FieldBug(38)
    @Test
    void shouldLoseNoWakeUpBetweenTwoThreads() {
        Interrupt there = new Interrupt();
        Interrupt back = new Interrupt();
        int rounds = 20_000;
        Threads.run(
                spin -> {
                    for (int i = 0; i < rounds; i++) {
                        there.raise();
                        assertTrue(back.await(i, LONG_NS));
                    }
                },
                spin -> {
                    for (int i = 0; i < rounds; i++) {
                        assertTrue(there.await(i, LONG_NS));
                        back.raise();
                    }
                });
        assertEquals(rounds, there.count());
        assertEquals(rounds, back.count());
    }

    @Test
    void shouldRefuseASecondThreadThatWaits() {
        Threads.run(spin -> assertTrue(interrupt.await(0, LONG_NS)), spin -> {
            try {
                awaitWaiter(spin);
                Thread.currentThread().setName("second");
                assertEquals(
                        "one thread at a time may wait on an interrupt: thread second found another waiting",
                        assertThrows(IllegalStateException.class, () -> interrupt.await(0, 0))
                                .getMessage());
            } finally {
                interrupt.raise();
            }
        });
        assertEquals(0, memory.getLong(WAITER), "the place is free again");
    }

    @FieldBug(43)
    @Test
    void shouldEndAWaitWhenTheThreadIsInterruptedAndWorkAfterwards() {
        AtomicReference<Thread> waiter = new AtomicReference<>();
        Threads.run(
                spin -> {
                    waiter.set(Thread.currentThread());
                    assertThrows(InterruptedException.class, () -> interrupt.await(0, LONG_NS));
                    assertFalse(Thread.currentThread().isInterrupted(), "the flag is cleared");
                    assertFalse(interrupt.await(0, 0), "nobody has raised");
                    interrupt.raise();
                    Thread.currentThread().interrupt();
                    assertTrue(interrupt.await(0, LONG_NS), "a raise counts more");
                    assertTrue(Thread.interrupted(), "and the flag stays");
                },
                spin -> {
                    awaitWaiter(spin);
                    waiter.get().interrupt();
                });
        assertEquals(0, memory.getLong(WAITER));
    }

    @Test
    void shouldCountWakeUpsWithoutARaise() {
        AtomicReference<Thread> waiter = new AtomicReference<>();
        Threads.run(
                spin -> {
                    waiter.set(Thread.currentThread());
                    assertTrue(interrupt.await(0, LONG_NS));
                },
                spin -> {
                    awaitWaiter(spin);
                    while (interrupt.spuriousWakeups() < 3) {
                        LockSupport.unpark(waiter.get());
                        spin.once();
                    }
                    interrupt.raise();
                });
        assertTrue(interrupt.spuriousWakeups() >= 3);
        assertEquals(1, interrupt.count());
    }

    @Test
    void shouldRunItsActionAfterCounting() {
        long[] counted = {-1};
        AtomicReference<Interrupt> self = new AtomicReference<>();
        Interrupt acting = new Interrupt(() -> counted[0] = self.get().count());
        self.set(acting);
        acting.raise();
        assertEquals(1, counted[0]);
        Threads.run(
                spin -> assertTrue(acting.await(1, LONG_NS), "a thread may wait on it as well"),
                spin -> acting.raise());
        assertEquals(2, counted[0]);
    }

    @Test
    void shouldHandWhatItsActionThrowsToTheThreadAndNotToTheRaiser() {
        RuntimeException fault = new IllegalStateException("of the action");
        AtomicReference<Throwable> caught = new AtomicReference<>();
        Interrupt acting = new Interrupt(() -> {
            throw fault;
        });
        Threads.run(spin -> {
            Thread.currentThread().setUncaughtExceptionHandler((thread, thrown) -> caught.set(thrown));
            acting.raise();
            acting.raise();
        });
        assertSame(fault, caught.get());
        assertEquals(2, acting.count());
    }

    @Test
    void shouldNameWhatIsWrong() {
        assertEquals(
                "time must be 0 or more nanoseconds: -1",
                assertThrows(IllegalArgumentException.class, () -> interrupt.await(0, -1))
                        .getMessage());
        assertEquals(
                "memory must have 256 bytes for an interrupt: 255",
                assertThrows(IllegalArgumentException.class, () -> new Interrupt(QueueMemory.allocate(255), null))
                        .getMessage());
        assertThrows(NullPointerException.class, () -> new Interrupt((Runnable) null));
        interrupt.raise();
        assertEquals("Interrupt[raised 1 times]", interrupt.toString());
    }

    /** Virtual threads, where there are any: reached by reflection, as the tests also run on JDK 17. */
    @Test
    void shouldWakeAVirtualThread() throws ReflectiveOperationException, InterruptedException {
        Method start;
        try {
            start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        } catch (NoSuchMethodException tooOld) {
            System.out.println("SKIPPED: virtual threads, " + Runtime.version());
            Assumptions.abort("no virtual threads");
            return;
        }
        AtomicReference<Boolean> woken = new AtomicReference<>();
        Thread virtual = (Thread) start.invoke(null, (Runnable) () -> {
            try {
                woken.set(interrupt.await(0, LONG_NS));
            } catch (InterruptedException e) {
                woken.set(false);
            }
        });
        Threads.run(spin -> {
            awaitWaiter(spin);
            interrupt.raise();
        });
        virtual.join();
        assertEquals(true, woken.get());
    }
}
