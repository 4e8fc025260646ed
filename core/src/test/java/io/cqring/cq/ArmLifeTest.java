package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.testing.SteppedMemory;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What an arm promises when the queue is overrun, closed, drained, reset or resized, and when its entries are purged or merged. */
class ArmLifeTest extends ArmRig {
    // ---- Overrun, close, reset

    @Test
    void shouldReportARunOfLossesOnce() {
        Events events = new Events();
        CompletionQueue queue = CompletionQueue.ofCapacity(2)
                .overrunPolicy(OverrunPolicy.DROP_NEW)
                .events(events, Events.CQ)
                .create();
        CompletionWriter writer = queue.writer();
        for (int round = 1; round <= 3; round++) {
            stage(queue, 2);
            for (int i = 0; i != 5; i++) {
                assertFalse(writer.stage(plain(), 0, 0, 0, 0));
            }
            assertEquals(2 * round - 1, events.overruns.size());
            writer.abort();
            write(queue);
            write(queue);
            assertFalse(write(queue));
            assertFalse(write(queue));
            assertEquals(2 * round, events.overruns.size(), "an entry had found a slot");
            poll(queue, 2);
        }
        assertFalse(events.overruns.contains(true));
        assertEquals(0, events.completions);
        assertEquals(3 * 7, queue.lostEntries());
    }

    @Test
    void shouldReportARunOfLossesOfEachOfManyWritersOnce() {
        Events events = new Events();
        CompletionQueue queue = CompletionQueue.ofCapacity(2)
                .overrunPolicy(OverrunPolicy.DROP_NEW)
                .events(events, Events.CQ)
                .writers(2)
                .create();
        SharedWriter writer = queue.newWriter();
        SharedWriter other = queue.newWriter();
        for (int round = 1; round <= 3; round++) {
            assertTrue(other.claim(2));
            assertFalse(writer.write(plain(), 0, 0, 0, 0));
            assertFalse(writer.claim(1));
            assertEquals(2 * round - 1, events.overruns.size());
            other.abandon(); // no credit is needed for these slots
            assertTrue(writer.claim(2));
            assertFalse(other.write(plain(), 0, 0, 0, 0));
            assertEquals(2 * round, events.overruns.size(), "of the other writer");
            writer.abandon();
        }
        assertFalse(events.overruns.contains(true));
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldWakeAnArmedHostWhenTheQueueDies(boolean many) {
        Events events = new Events();
        CompletionQueue.Builder builder =
                CompletionQueue.ofCapacity(2).overrunPolicy(OverrunPolicy.ERROR).events(events, Events.CQ);
        CompletionQueue queue = (many ? builder.writers(2) : builder).create();
        SharedWriter one = many ? queue.newWriter() : null;
        SharedWriter two = many ? queue.newWriter() : null;
        assertFalse(queue.arm(ArmMode.SOLICITED));
        for (int i = 0; i != 4; i++) {
            boolean written = many ? one.write(plain(), 0, 0, 0, 0) : write(queue);
            assertEquals(i < 2, written);
            assertEquals(i < 2 ? 0 : 1, events.completions, "nothing solicited, but dead");
        }
        assertEquals(List.of(true), events.overruns);
        assertTrue(queue.takeEvent());
        assertEquals(2, poll(queue, 8));
        assertTrue(queue.arm(ArmMode.NEXT), "dead: look");
        assertThrows(CqOverrunException.class, () -> poll(queue, 1));
        if (many) {
            assertFalse(two.write(plain(), 0, 0, 0, 0));
            assertEquals(List.of(true, true), events.overruns, "each writer tells of its own");
        } else {
            queue.writer().abort();
            assertFalse(write(queue));
            assertEquals(List.of(true), events.overruns);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldWakeAnArmedHostOnClose(boolean many) {
        for (ArmMode mode : ArmMode.values()) {
            Events events = new Events();
            CompletionQueue.Builder builder = CompletionQueue.ofCapacity(2).events(events, Events.CQ);
            CompletionQueue queue = (many ? builder.writers(2) : builder).create();
            assertFalse(queue.arm(mode));
            queue.close();
            queue.close();
            assertEquals(1, events.completions);
            assertTrue(queue.takeEvent());
            assertThrows(IllegalStateException.class, () -> queue.arm(mode));
            assertEquals(1, events.completions);
        }
    }

    @Test
    void shouldBeSilentOnCloseIfNothingIsArmed() {
        Events events = new Events();
        CompletionQueue queue = queueAt(new Shape(64, 2, 0), 1, events);
        queue.arm(ArmMode.NEXT);
        write(queue);
        queue.close();
        assertEquals(1, events.completions, "that of the entry");
        Events none = new Events();
        CompletionQueue.ofCapacity(2).events(none, 1).create().close();
        assertEquals(0, none.completions);
    }

    /** A close at any access of an arm: the call says so, or the event comes. */
    @Test
    void shouldTellOfACloseBetweenPollAndSleep() {
        for (int access = 0, outside = 0; outside == 0; access++) {
            Events events = new Events();
            SteppedMemory memory = new SteppedMemory(4096);
            CompletionQueue queue = CompletionQueue.ofCapacity(2)
                    .events(events, Events.CQ)
                    .memory(memory)
                    .create();
            boolean[] closed = {false};
            memory.runBefore(access, () -> {
                queue.close();
                closed[0] = true;
            });
            boolean told;
            try {
                told = queue.arm(ArmMode.NEXT);
            } catch (IllegalStateException e) {
                told = true;
            }
            memory.unhook();
            if (closed[0]) {
                assertTrue(told || events.completions == 1, "access " + access);
            } else {
                outside = access;
            }
        }
    }

    @ParameterizedTest
    @MethodSource("io.cqring.cq.ArmRig#shapes")
    void shouldStartAgainAfterReset(Shape shape) {
        Events events = new Events();
        CompletionQueue queue = queueAt(shape, 1, events);
        assertFalse(queue.arm(ArmMode.NEXT));
        queue.reset();
        write(queue);
        assertEquals(0, events.completions, "the arm went with the reset");
        poll(queue, 1);
        assertFalse(queue.arm(ArmMode.NEXT));
        write(queue);
        assertEquals(1, events.completions);
        queue.reset();
        assertTrue(queue.takeEvent(), "an event that is on its way arrives");
        for (ArmMode mode : ArmMode.values()) {
            int before = events.completions;
            assertFalse(queue.arm(mode));
            queue.writer().write(solicited(), 0, 0, 0, 0);
            assertEquals(before + 1, events.completions);
            assertTrue(queue.takeEvent());
            queue.reset();
            assertFalse(queue.arm(ArmMode.SOLICITED));
            write(queue);
            assertEquals(before + 1, events.completions, "solicited before the reset");
            queue.reset();
        }
    }

    /** Another thread takes the event at any access of a reset: the number does not go back. */
    @Test
    void shouldNotForgetThatAnEventWasTakenDuringAReset() {
        int taken = 0;
        for (int access = 0; taken == access; access++) {
            Events events = new Events();
            SteppedMemory memory = new SteppedMemory(4096);
            CompletionQueue queue = CompletionQueue.ofCapacity(2)
                    .events(events, Events.CQ)
                    .memory(memory)
                    .create();
            queue.arm(ArmMode.NEXT);
            write(queue);
            boolean[] done = {false};
            memory.runBefore(access, () -> {
                assertTrue(queue.takeEvent());
                done[0] = true;
            });
            queue.reset();
            memory.unhook();
            taken += done[0] ? 1 : 0;
            assertEquals(!done[0], queue.takeEvent());
            assertFalse(queue.arm(ArmMode.NEXT));
            write(queue);
            assertEquals(2, events.completions, "access " + access);
        }
        assertTrue(taken > 5, "accesses of a reset: " + taken);
    }

    // ---- Resize, purge, merging

    /** Armed before, on both sides of, and after the marker; the new ring smaller, larger or equal. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 4, 8, 16})
    void shouldRaiseTheEventAcrossAResize(int newCapacity) {
        for (long start : new long[] {0, 7, Long.MAX_VALUE - 1}) {
            for (int count = 1; count <= 8; count++) {
                for (int old = 0; old <= Math.min(newCapacity, 7); old++) {
                    for (boolean armFirst : new boolean[] {false, true}) {
                        Events events = new Events();
                        CompletionQueue queue = queueAt(new Shape(64, 8, start), 3, events);
                        stage(queue, old);
                        queue.writer().flush();
                        boolean ready = armFirst && queue.arm(ArmMode.NEXT, count);
                        queue.resize(newCapacity);
                        if (!armFirst) {
                            ready = queue.arm(ArmMode.NEXT, count);
                        }
                        String where = at(newCapacity, start, count, old, armFirst);
                        assertEquals(old >= count, ready, where);
                        int there = old;
                        while (there != newCapacity) { // full
                            assertTrue(write(queue), where);
                            there++;
                            if (there < Math.min(count, newCapacity)) {
                                assertEquals(0, events.completions, where + there);
                            }
                        }
                        queue.writer().flush(); // of nothing: the move into the new ring may have made it full
                        assertEquals(1, events.completions, where);
                        int polled = 0;
                        for (int i = 0; i != 3; i++) {
                            polled += poll(queue, 16);
                        }
                        assertEquals(there, polled, where);
                        queue.takeEvent();
                        int before = events.completions;
                        assertFalse(queue.arm(ArmMode.NEXT), where);
                        assertTrue(write(queue), where);
                        assertEquals(before + 1, events.completions, where);
                    }
                }
            }
        }
    }

    /** The move tells of what is there, as a flush would: a solicited entry is, in a full ring, or none is. */
    @Test
    void shouldServeASolicitedArmWhenItMoves() {
        for (boolean there : new boolean[] {false, true}) {
            Events events = new Events();
            CompletionQueue queue = queueAt(new Shape(64, 8, 0), 3, events);
            stage(queue, 3);
            if (there) {
                queue.writer().stage(solicited(), 0, 0, 0, 0);
            } else {
                stage(queue, 1);
            }
            queue.writer().flush();
            queue.resize(4);
            assertTrue(queue.arm(ArmMode.SOLICITED), "something is there");
            assertFalse(write(queue), "moved, and full");
            assertEquals(there ? 1 : 0, events.completions);
            assertEquals(4, poll(queue, 8));
            assertEquals(0, poll(queue, 8));
            assertEquals(4, queue.capacity());
        }
    }

    /** A device that raises its events itself finds the arm due once it is in the smaller ring. */
    @Test
    void shouldShowAnArmThatTheMoveMadeDue() {
        CompletionQueue queue =
                CompletionQueue.ofCapacity(8).deviceEvents(Events.CQ).create();
        stage(queue, 4);
        queue.writer().flush();
        queue.resize(4);
        assertFalse(queue.arm(ArmMode.NEXT, 5));
        assertEquals(4, queue.writer().pastArm());
        assertTrue(queue.writer().answerArm());
        assertFalse(queue.writer().answerArm());
    }

    /** A marker with nothing behind it is something to poll, once. */
    @Test
    void shouldNotSpinOnAMarker() {
        Events events = new Events();
        CompletionQueue queue = queueAt(new Shape(64, 8, 0), 3, events);
        queue.resize(16);
        queue.writer().flush();
        assertTrue(queue.arm(ArmMode.NEXT, 4));
        assertEquals(0, poll(queue, 8));
        assertEquals(ResizeStatus.DONE, queue.resizeStatus());
        assertFalse(queue.arm(ArmMode.NEXT, 16));
        for (int i = 0; i != 16; i++) {
            assertEquals(0, events.completions);
            write(queue);
        }
        assertEquals(1, events.completions);
    }

    @Test
    void shouldLookBehindPurgedEntries() {
        Events events = new Events();
        CompletionQueue queue = queueAt(new Shape(64, 8, 0), 5, events);
        write(queue);
        write(queue);
        assertTrue(queue.arm(ArmMode.NEXT));
        assertEquals(2, queue.purge(7));
        assertFalse(queue.arm(ArmMode.NEXT));
        queue.writer().write(CqeLayout.header(CqeOpcode.RECV, false, 1, 8, 0), 0, 0, 0, 0);
        assertEquals(1, events.completions);
        queue.takeEvent();
        write(queue);
        assertEquals(1, queue.purge(7), "one that stays in its slot, behind another's");
        assertTrue(queue.arm(ArmMode.NEXT, 2));
        assertEquals(1, poll(queue, 8));
        assertFalse(queue.arm(ArmMode.NEXT), "passed over with the poll");
        write(queue);
        assertEquals(2, events.completions);
    }

    @ParameterizedTest
    @ValueSource(ints = {32, 64, 128})
    void shouldRaiseOneEventForAMergedEntryAndLookIntoIt(int stride) {
        Events events = new Events();
        CompletionQueue queue = CompletionQueue.ofCapacity(4)
                .strideBytes(stride)
                .merging()
                .events(events, Events.CQ)
                .create();
        assertFalse(queue.arm(ArmMode.NEXT));
        stage(queue, 3);
        assertEquals(1, queue.writer().flush(), "one slot");
        assertEquals(1, events.completions);
        assertTrue(queue.takeEvent());
        for (int i = 0; i != 3; i++) {
            assertTrue(queue.arm(ArmMode.NEXT), "some of the slot are left");
            assertFalse(queue.arm(ArmMode.NEXT, 2), "slots count");
            assertEquals(1, poll(queue, 1));
        }
        assertFalse(queue.arm(ArmMode.NEXT, 2));
        stage(queue, 2);
        queue.writer().flush();
        assertEquals(1, events.completions);
        stage(queue, 2);
        queue.writer().flush();
        assertEquals(2, events.completions);
        queue.takeEvent();
        poll(queue, 4);
        assertFalse(queue.arm(ArmMode.SOLICITED));
        stage(queue, 2);
        queue.writer().flush();
        assertEquals(2, events.completions, "what is merged is never solicited");
        queue.writer().stage(solicited(), 0, 0, 0, 0);
        queue.writer().flush();
        assertEquals(3, events.completions);
    }

    // ---- What a drain does to it

    @Test
    void shouldWakeAnArmedHostWhenADrainCloses() {
        Events events = new Events();
        CompletionQueue queue = queueAt(new Shape(64, 4, 0), 0, events);
        assertFalse(queue.arm(ArmMode.NEXT));
        DrainResult result = queue.drainAndClose(c -> {}, 0, TimeUnit.SECONDS);
        assertTrue(result.complete());
        assertEquals(1, events.completions);
    }
}
