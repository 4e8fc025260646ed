package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.Numbered.Way;
import io.cqring.cq.Polling.InOrder;
import io.cqring.testing.SteppedMemory;
import io.cqring.testing.Threads;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Writers that are gone: what recover takes back, what it leaves alone, and that the queue goes on. */
@Tag("bothroutes")
class RecoverTest {
    private static final Shape SHAPE = new Shape(64, 8, 5);

    private static void onEndedThread(Runnable body) {
        Threads.run(spin -> body.run());
    }

    private static CompletionQueue queue(int writers) {
        return SHAPE.builder().writers(writers).create();
    }

    private static void put(SharedWriter writer, long n) {
        assertTrue(NumberedShared.put(writer, Way.CLAIM, n, 64));
    }

    private static List<Long> pollAll(CompletionQueue queue) {
        List<Long> ids = new ArrayList<>();
        queue.poll(
                seen -> {
                    Numbered.verify(seen, seen.workRequestId(), Way.CLAIM, 64);
                    ids.add(seen.workRequestId());
                },
                queue.capacity());
        return ids;
    }

    @Test
    void shouldFindNothingToDoWhileAllAreAlive() {
        CompletionQueue queue = queue(2);
        assertEquals(0, queue.recover(), "no writer at all");
        SharedWriter a = queue.newWriter();
        assertEquals(0, queue.recover(), "never used");
        assertTrue(a.claim(3));
        assertEquals(0, queue.recover(), "a claim of a living thread, however long it is open");
        a.release();
        assertEquals(0, queue.recover(), "a claim that waits for another thread");
        onEndedThread(() -> {
            for (int i = 0; i < 3; i++) {
                NumberedShared.fill(a.entry(i), Way.CLAIM, i, 64);
            }
            a.commit(2);
            a.release();
        });
        assertEquals(0, queue.recover(), "its last thread has ended, but it had released the writer");
        put(a, 2);
        assertEquals(List.of(0L, 1L, 2L), pollAll(queue));
    }

    @Test
    void shouldAbandonTheOpenClaimOfAnEndedThread() {
        CompletionQueue queue = queue(2);
        SharedWriter gone = queue.newWriter();
        SharedWriter live = queue.newWriter();
        put(live, 0);
        onEndedThread(() -> {
            assertTrue(gone.claim(3));
            NumberedShared.fill(gone.entry(0), Way.CLAIM, 50, 64);
        });
        put(live, 1);
        put(live, 2);
        assertEquals(List.of(0L), pollAll(queue), "the hole holds up what is behind it");
        assertEquals(5, queue.size());
        assertEquals(3, queue.recover());
        assertEquals(2, queue.size(), "abandoned entries do not count");
        assertEquals(0, queue.recover(), "once");
        put(live, 3);
        assertEquals(List.of(1L, 2L, 3L), pollAll(queue));
        SharedWriter next = queue.newWriter(); // the place is free
        assertTrue(next.claim(8));
        next.abandon();
        assertEquals(0, queue.size());
    }

    @Test
    void shouldFreeThePlacesOfEndedThreadsThatHadFinished() {
        CompletionQueue queue = queue(2);
        SharedWriter a = queue.newWriter();
        SharedWriter b = queue.newWriter();
        onEndedThread(() -> put(a, 0));
        onEndedThread(() -> put(b, 1));
        assertEquals(0, queue.recover());
        put(queue.newWriter(), 2);
        put(queue.newWriter(), 3);
        assertEquals(List.of(0L, 1L, 2L, 3L), pollAll(queue), "what they had published stays");
    }

    /** A thread that ends before it has written leaves a place too; one that somebody else may still use is no such place. */
    @Test
    void shouldFreeThePlaceOfAThreadThatNeverWrote() {
        CompletionQueue queue = queue(2);
        SharedWriter[] opened = new SharedWriter[2];
        onEndedThread(() -> {
            opened[0] = queue.newWriter();
            opened[1] = queue.newWriter();
            opened[1].release(); // for any thread from now on
        });
        assertThrows(IllegalStateException.class, queue::newWriter);
        assertEquals(0, queue.recover());
        SharedWriter next = queue.newWriter();
        assertThrows(IllegalStateException.class, queue::newWriter, "one place was free");
        assertTrue(assertThrows(IllegalStateException.class, () -> put(opened[0], 9))
                .getMessage()
                .startsWith("shared writer belongs to thread "));
        put(opened[1], 0);
        opened[1].release();
        assertEquals(0, queue.recover(), "nobody's, once more");
        put(opened[1], 1);
        put(next, 2);
        assertEquals(List.of(0L, 1L, 2L), pollAll(queue));
        opened[0].close();
        assertThrows(IllegalStateException.class, queue::newWriter, "closing it frees no other's place");
    }

    /** Who opened it may have ended: a thread that uses it is what counts. */
    @Test
    void shouldLeaveAWriterToTheThreadThatUsesIt() {
        CompletionQueue queue = queue(2);
        SharedWriter[] opened = new SharedWriter[1];
        onEndedThread(() -> opened[0] = queue.newWriter());
        assertTrue(opened[0].claim(1));
        assertEquals(0, queue.recover());
        NumberedShared.fill(opened[0].entry(0), Way.CLAIM, 3, 64);
        opened[0].commit(1);
        opened[0].release();
        assertEquals(0, queue.recover(), "the opener is of no account any more");
        put(opened[0], 4);
        assertEquals(List.of(3L, 4L), pollAll(queue));
        SharedWriter mine = queue.newWriter();
        mine.release();
        assertThrows(IllegalStateException.class, mine::release, "nobody's any more");
        Threads.run(spin -> put(mine, 5));
        assertThrows(IllegalStateException.class, mine::release);
    }

    /** Two rows of ended threads, one after the other, and one in the middle of a living writer's claims. */
    @Test
    void shouldTakeBackTheClaimsOfSeveral() {
        CompletionQueue queue = queue(3);
        SharedWriter first = queue.newWriter();
        SharedWriter second = queue.newWriter();
        SharedWriter live = queue.newWriter();
        onEndedThread(() -> assertTrue(first.claim(2)));
        assertTrue(live.claim(2));
        onEndedThread(() -> assertTrue(second.claim(3)));
        assertEquals(5, queue.recover());
        assertEquals(List.of(), pollAll(queue), "the living claim is still open");
        assertEquals(2, queue.size());
        NumberedShared.fill(live.entry(0), Way.CLAIM, 7, 64);
        NumberedShared.fill(live.entry(1), Way.CLAIM, 8, 64);
        live.commit(2);
        assertEquals(List.of(7L, 8L), pollAll(queue));
        assertEquals(0, queue.size());
    }

    /** The thread is alive but its call was cut short: the writer is unusable, close takes its claim back. */
    @Test
    void shouldTakeBackTheClaimOfACallThatWasCutShort() {
        SteppedMemory memory = new SteppedMemory(384 + 2 * 128 + 8 * 64);
        CompletionQueue queue = SHAPE.builder().writers(2).memory(memory).create();
        SharedWriter broken = queue.newWriter();
        SharedWriter live = queue.newWriter();
        memory.endAt(4, false); // enter, first, count, compare-and-set; not the first word of the entry
        boolean ended = false;
        try {
            NumberedShared.put(broken, Way.WRITE, 1, 64);
        } catch (SteppedMemory.Ended e) {
            ended = true;
        }
        assertTrue(ended);
        put(live, 2);
        for (Executable call : List.<Executable>of(
                () -> put(broken, 3), () -> broken.commit(0), broken::abandon, () -> broken.entry(0))) {
            assertEquals(
                    "an earlier call of this shared writer was cut short by an exception: close it, open another",
                    assertThrows(IllegalStateException.class, call).getMessage());
        }
        assertEquals(0, queue.recover(), "its thread is alive, and might know better");
        assertEquals(List.of(), pollAll(queue));
        broken.close();
        assertEquals(List.of(2L), pollAll(queue));
        put(queue.newWriter(), 4);
        assertEquals(List.of(4L), pollAll(queue));
    }

    /** A row that also covers what a living writer owns decides nothing, until the living writer is done. */
    @Test
    void shouldDecideNothingWhileALivingWriterMayOwnIt() {
        SteppedMemory memory = new SteppedMemory(384 + 2 * 128 + 8 * 64);
        CompletionQueue queue = SHAPE.builder().writers(2).memory(memory).create();
        SharedWriter gone = queue.newWriter();
        SharedWriter live = queue.newWriter();
        onEndedThread(() -> {
            memory.endAt(3, false); // just before the compare-and-set
            assertThrows(SteppedMemory.Ended.class, () -> gone.claim(2));
        });
        assertTrue(live.claim(3));
        assertEquals(0, queue.recover());
        assertEquals(2, memory.getLong(Region.row(0) + Region.ROW_COUNT), "kept for later");
        NumberedShared.fill(live.entry(0), Way.CLAIM, 1, 64);
        live.commit(1);
        assertEquals(0, queue.recover(), "it was never claimed");
        assertEquals(0, memory.getLong(Region.row(0) + Region.ROW_OWNER), "settled");
        assertEquals(List.of(1L), pollAll(queue));
        assertEquals(0, queue.size());
    }

    /** A row must not go on covering what its writer gave back, or tried for in vain: another may claim it, and die. */
    @Test
    void shouldNotBeMisledByTheRowOfAWriterThatHasNothing() {
        CompletionQueue queue = queue(2);
        SharedWriter gone = queue.newWriter();
        SharedWriter live = queue.newWriter();
        assertTrue(live.claim(2));
        assertEquals(2, live.abandon());
        onEndedThread(() -> assertTrue(gone.claim(2)));
        assertEquals(2, queue.recover(), "given back before");

        SteppedMemory memory = new SteppedMemory(384 + 2 * 128 + 8 * 64);
        CompletionQueue full = SHAPE.builder().writers(2).memory(memory).create();
        SharedWriter fills = full.newWriter();
        SharedWriter refused = full.newWriter();
        memory.runBefore(3, () -> onEndedThread(() -> assertTrue(fills.claim(8)))); // before its compare-and-set
        assertEquals(false, NumberedShared.put(refused, Way.WRITE, 1, 64));
        assertEquals(8, full.recover(), "tried for in vain");
    }

    /** Many rows of ended threads cover one sequence; one of them claimed it. */
    @Test
    void shouldAbandonOnceWhatSeveralRowsCover() {
        SteppedMemory memory = new SteppedMemory(384 + 3 * 128 + 8 * 64);
        CompletionQueue queue = SHAPE.builder().writers(3).memory(memory).create();
        List<SharedWriter> gone = List.of(queue.newWriter(), queue.newWriter(), queue.newWriter());
        for (int i = 0; i < 3; i++) {
            SharedWriter writer = gone.get(i);
            boolean claims = i == 2;
            onEndedThread(() -> {
                memory.endAt(3, claims); // the last one just after its compare-and-set
                assertThrows(SteppedMemory.Ended.class, () -> writer.claim(2));
            });
        }
        assertEquals(2, queue.recover());
        assertEquals(List.of(), pollAll(queue));
        assertEquals(7, memory.getLong(Region.CONSUMER), "both passed over");
        put(queue.newWriter(), 9);
        assertEquals(List.of(9L), pollAll(queue));
        assertEquals(2, memory.getLong(Region.ABANDONED), "each once");
        assertEquals(2, memory.getLong(Region.PASSED_OVER));
    }

    /** What the thread was about to do; how many entries that publishes, and whether by write. */
    private enum Deed {
        WRITE(1, true),
        WRITES_IN_A_ROW(2, true),
        BATCH(2, false),
        PART(1, false),
        GIVE_BACK(0, false);

        final int published;
        final boolean singles;

        Deed(int published, boolean singles) {
            this.published = published;
            this.singles = singles;
        }

        void call(SharedWriter writer) {
            if (!singles) {
                batch(writer, 2, published);
                return;
            }
            for (int i = 0; i < published; i++) {
                NumberedShared.put(writer, Way.WRITE, 10 + i, 64);
            }
        }

        private static void batch(SharedWriter writer, int count, int publish) {
            writer.claim(count);
            for (int i = 0; i < publish; i++) {
                NumberedShared.fill(writer.entry(i), Way.CLAIM, 10 + i, 64);
            }
            if (publish == 0) {
                writer.abandon();
            } else {
                writer.commit(publish);
            }
        }
    }

    /**
     * A thread ends before or after any of its accesses; another writer has written before, during (right behind its claim, so
     * that giving back means abandoning) and after. What it published is a prefix of what it was about to, the others' entries
     * are all there, and the ring is whole again.
     */
    @ParameterizedTest
    @CsvSource({"2, 0", "4, 1", "4, 3", "8, 6"})
    void shouldSurviveAnEndAtAnyAccess(int capacity, long start) {
        int ends = 0;
        for (Deed deed : Deed.values()) {
            for (boolean behind : new boolean[] {false, true}) {
                for (boolean after : new boolean[] {false, true}) {
                    int access = 0;
                    while (ended(new Shape(64, capacity, start), deed, behind && capacity > 2, access, after)) {
                        access++;
                    }
                    assertTrue(access >= 9, "accesses of " + deed + ": " + access);
                    ends += access;
                }
            }
        }
        System.out.println("Ended threads: " + ends + ", capacity " + capacity);
    }

    private static boolean ended(Shape shape, Deed deed, boolean behind, int access, boolean after) {
        String where =
                shape + " " + deed + (behind ? " with another behind" : "") + (after ? " after " : " before ") + access;
        int n = shape.capacity();
        SteppedMemory memory = new SteppedMemory(384 + 3 * 128 + (long) n * 64);
        CompletionQueue queue = shape.builder().writers(3).memory(memory).create();
        SharedWriter gone = queue.newWriter();
        SharedWriter other = queue.newWriter();
        SharedWriter live = queue.newWriter();
        List<Long> expected = new ArrayList<>();
        if (n > 2) {
            assertTrue(NumberedShared.put(live, Way.WRITE, 1, 64), where);
            expected.add(1L);
        }
        boolean[] ended = {false};
        onEndedThread(() -> {
            try {
                long claimed = memory.getLong(Region.PRODUCER);
                int[] accesses = {0};
                boolean[] otherWrites = {false};
                boolean[] otherHasWritten = {!behind};
                memory.hook((done, offset, stores) -> {
                    if (otherWrites[0]) {
                        return;
                    }
                    if (done && !otherHasWritten[0]) {
                        otherWrites[0] = true;
                        if (memory.getLong(Region.PRODUCER) != claimed) { // right behind the claim
                            otherHasWritten[0] = true;
                            if (NumberedShared.put(other, Way.WRITE, 2, 64)) {
                                expected.add(2L);
                            }
                        }
                        otherWrites[0] = false;
                    }
                    if (done == after && accesses[0]++ == access) {
                        ended[0] = true;
                        memory.unhook();
                        throw new SteppedMemory.Ended();
                    }
                });
                deed.call(gone);
            } catch (SteppedMemory.Ended end) {
                assertTrue(ended[0], where);
            } finally {
                memory.unhook();
            }
        });
        if (NumberedShared.put(live, Way.WRITE, 3, 64)) {
            expected.add(3L);
        }
        long abandonedBefore = memory.getLong(Region.ABANDONED);
        int recovered = queue.recover();
        assertEquals(abandonedBefore + recovered, memory.getLong(Region.ABANDONED), where);
        assertEquals(0, queue.recover(), where);
        List<Long> seen = new ArrayList<>();
        queue.poll(
                completion -> {
                    long id = completion.workRequestId();
                    Way way = id < 10 || deed.singles ? Way.WRITE : Way.CLAIM;
                    Numbered.verify(completion, id, way, 64);
                    seen.add(id);
                },
                n);
        assertEquals(memory.getLong(Region.PRODUCER), memory.getLong(Region.CONSUMER), where);
        List<Long> ofGone = seen.stream().filter(id -> id >= 10).toList();
        assertEquals(List.of(10L, 11L).subList(0, ofGone.size()), ofGone, where);
        assertTrue(ofGone.size() <= deed.published, where);
        seen.removeAll(ofGone);
        assertEquals(expected, seen, where);
        // A thread that ends between counting an abandoned entry and publishing it leaves it to recovery, which counts
        // it again.
        long countedTwice = memory.getLong(Region.ABANDONED) - memory.getLong(Region.PASSED_OVER);
        assertTrue(countedTwice == 0 || (countedTwice == 1 && ended[0]), where);
        assertEquals(0, queue.size(), where);
        SharedWriter fresh = queue.newWriter();
        for (int lap = 0; lap < 2; lap++) {
            assertTrue(fresh.claim(n), where);
            for (int i = 0; i < n; i++) {
                NumberedShared.fill(fresh.entry(i), Way.CLAIM, 20 + i, 64);
            }
            assertEquals(0, queue.poll(completion -> {}, n), where);
            fresh.commit(n);
            assertEquals(n - countedTwice, queue.size(), where);
            InOrder taker = new InOrder(64, Way.CLAIM, 20);
            assertEquals(n, queue.poll(taker::onView, n), where);
        }
        return ended[0];
    }
}
