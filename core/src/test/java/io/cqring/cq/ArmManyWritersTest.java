package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.testing.SteppedMemory;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** What an arm promises where many write: claims end in any order, or not at all. */
class ArmManyWritersTest extends ArmRig {
    /** What becomes of the older claim, behind which another writer's entry waits. */
    private enum End {
        COMMIT {
            @Override
            void of(CompletionQueue queue, SharedWriter writer) {
                writer.entry(0);
                writer.entry(1);
                writer.commit(2);
            }
        },
        COMMIT_PART {
            @Override
            void of(CompletionQueue queue, SharedWriter writer) {
                writer.entry(0);
                writer.commit(1);
            }
        },
        ABANDON {
            @Override
            void of(CompletionQueue queue, SharedWriter writer) {
                writer.abandon();
            }
        },
        CLOSE {
            @Override
            void of(CompletionQueue queue, SharedWriter writer) {
                writer.close();
            }
        },
        RECOVER {
            @Override
            void of(CompletionQueue queue, SharedWriter writer) {
                assertEquals(2, queue.recover());
            }
        },
        CLOSE_OF_ENDED {
            @Override
            void of(CompletionQueue queue, SharedWriter writer) {
                writer.close();
            }
        };

        abstract void of(CompletionQueue queue, SharedWriter writer);

        boolean threadEnded() {
            return this == RECOVER || this == CLOSE_OF_ENDED;
        }
    }

    /**
     * The host is armed behind an open claim, after which another writer has published. Events that come early cost it a look;
     * the one that it needs comes when the claim ends, in whatever way.
     */
    @ParameterizedTest
    @EnumSource(End.class)
    void shouldRaiseTheEventWhenAnOlderClaimEnds(End end) throws InterruptedException {
        for (ArmMode mode : ArmMode.values()) {
            for (long start : new long[] {0, 3, Long.MAX_VALUE, -2}) {
                for (boolean shared : new boolean[] {false, true}) {
                    Events events = new Events();
                    CompletionQueue.Builder builder = CompletionQueue.ofCapacity(4)
                            .startSequence(start)
                            .events(events, Events.CQ)
                            .writers(2);
                    CompletionQueue queue = (shared ? builder.sharedPollers() : builder).create();
                    CompletionPoller poller = shared ? queue.newPoller(1) : null;
                    SharedWriter holder = queue.newWriter();
                    if (end.threadEnded()) {
                        Thread thread = new Thread(() -> holder.claim(2));
                        thread.start();
                        thread.join();
                    } else {
                        assertTrue(holder.claim(2));
                    }
                    SharedWriter other = queue.newWriter();
                    assertTrue(other.write(solicited(), 77, 0, 0, 0));
                    int early = events.completions;
                    assertEquals(0, early, "nobody has armed");
                    assertFalse(arm(queue, poller, mode), "the claim is open");
                    assertTrue(other.write(plain(), 78, 0, 0, 0));
                    if (queue.takeEvent()) { // early
                        assertFalse(arm(queue, poller, mode));
                    }
                    assertEquals(0, take(queue, poller, new ArrayList<>()));
                    int before = events.completions;
                    end.of(queue, holder);
                    assertEquals(before + 1, events.completions, at(end, mode, start, shared));
                    List<Long> seen = new ArrayList<>();
                    take(queue, poller, seen);
                    assertTrue(seen.containsAll(List.of(77L, 78L)), at(end, mode, seen));
                }
            }
        }
    }

    @ParameterizedTest
    @MethodSource("io.cqring.cq.ArmRig#shapes")
    void shouldRaiseOneEventForABatchOfOneOfManyWriters(Shape shape) {
        for (int k = 1; k <= shape.capacity(); k++) {
            for (int count = 1; count <= k; count++) {
                Events events = new Events();
                CompletionQueue queue =
                        shape.builder().events(events, Events.CQ).writers(2).create();
                SharedWriter writer = queue.newWriter();
                SharedWriter other = queue.newWriter();
                for (int round = 1; round <= 3; round++) {
                    assertFalse(queue.arm(ArmMode.NEXT, count));
                    assertTrue(writer.claim(k));
                    for (int i = 0; i != k; i++) {
                        writer.entry(i).header(i == 0 ? solicited() : plain());
                    }
                    assertEquals(2 * (round - 1), events.completions, "claimed, not published");
                    writer.commit(k);
                    assertEquals(2 * round - 1, events.completions);
                    assertEquals(k, poll(queue, k));
                    assertTrue(queue.takeEvent());
                    assertFalse(queue.arm(ArmMode.SOLICITED));
                    other.write(plain(), 0, 0, 0, 0);
                    assertEquals(2 * round - 1, events.completions);
                    assertEquals(1, poll(queue, 1));
                    other.write(solicited(), 0, 0, 0, 0);
                    assertEquals(2 * round, events.completions);
                    assertEquals(1, poll(queue, 1));
                    assertTrue(queue.takeEvent());
                }
            }
        }
    }

    @Test
    void shouldRaiseNothingForAClaimThatLeavesNoTrace() {
        Events events = new Events();
        CompletionQueue queue = CompletionQueue.ofCapacity(4)
                .events(events, Events.CQ)
                .writers(2)
                .create();
        SharedWriter writer = queue.newWriter();
        assertFalse(queue.arm(ArmMode.NEXT));
        writer.claim(3);
        writer.abandon();
        assertEquals(0, events.completions);
        writer.write(plain(), 0, 0, 0, 0);
        assertEquals(1, events.completions);
    }

    /** A writer ends at any access of its call. Whatever it had published or claimed by then, after recovery the host knows. */
    @ParameterizedTest
    @EnumSource(ArmMode.class)
    void shouldTellTheHostOfWhatAWriterLeftThatEndedAnywhere(ArmMode mode) throws InterruptedException {
        int ends = 0;
        for (boolean batch : new boolean[] {false, true}) {
            for (boolean after : new boolean[] {false, true}) {
                boolean[] ended = {true};
                for (int access = 0; ended[0]; access++) {
                    Events events = new Events();
                    SteppedMemory memory = new SteppedMemory(CompletionQueue.requiredBytes(4, 64, 2));
                    CompletionQueue queue = CompletionQueue.ofCapacity(4)
                            .startSequence(3)
                            .events(events, Events.CQ)
                            .writers(2)
                            .memory(memory)
                            .create();
                    SharedWriter writer = queue.newWriter();
                    assertFalse(queue.arm(mode));
                    int last = access;
                    Thread thread = new Thread(() -> {
                        try {
                            memory.endAt(last, after);
                            if (batch) {
                                writer.claim(2);
                                writer.entry(0).header(solicited());
                                writer.entry(1).header(plain());
                                writer.commit(2);
                            } else {
                                writer.write(solicited(), 0, 0, 0, 0);
                            }
                            ended[0] = false;
                        } catch (SteppedMemory.Ended e) {
                            // here
                        }
                    });
                    thread.start();
                    thread.join();
                    memory.unhook();
                    queue.recover();
                    ends++;
                    boolean told = events.completions != 0;
                    // FIRED may have been set by the one that ended, which then told nobody: a sink is not memory
                    boolean answered = queue.takeEvent();
                    int there = poll(queue, 4);
                    assertTrue(told || answered || there == 0, at(batch, after, access));
                    assertTrue(events.completions <= 1, at(batch, after, access));
                    assertFalse(queue.arm(mode), at(batch, after, access));
                    queue.newWriter().write(solicited(), 0, 0, 0, 0);
                    assertTrue(queue.takeEvent(), at(batch, after, access));
                }
            }
        }
        assertTrue(ends > 50, "ends: " + ends);
    }
}
