package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.memory.QueueMemory;
import io.cqring.testing.StoppingMemory;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A writer whose call an error cuts short, in front of each of its stores, and that goes on: what is in hand then is an entry that
 * was filled, or nothing. It publishes no entry twice, and nothing of what lay in a slot before.
 */
class CutShortTest {
    private static final int CAPACITY = 4;
    private static final long OLD = 1000;
    private static final long LAST = 99;

    /** What a writer does with entries 1 and 2. */
    private enum Work {
        CLAIM_WHOLE,
        CLAIM_PART,
        CLAIM_TWICE,
        CLAIM_AND_STAGE,
        STAGE_AND_CLAIM,
        CLAIM_AND_WRITE,
        CLAIM_TWICE_FLUSH_ONE;

        int entries() {
            return this == CLAIM_WHOLE || this == CLAIM_PART ? 1 : 2;
        }

        void run(CompletionWriter writer) throws HalfFilled {
            switch (this) {
                case CLAIM_WHOLE -> whole(writer.claim(), 1);
                case CLAIM_PART -> part(writer.claim(), 1);
                case CLAIM_TWICE -> {
                    whole(writer.claim(), 1);
                    part(writer.claim(), 2);
                }
                case CLAIM_AND_STAGE -> {
                    whole(writer.claim(), 1);
                    writer.stage(header(2), 2, 2, 2, 0);
                }
                case STAGE_AND_CLAIM -> {
                    writer.stage(header(1), 1, 1, 1, 0);
                    whole(writer.claim(), 2);
                }
                case CLAIM_AND_WRITE -> {
                    whole(writer.claim(), 1);
                    writer.write(header(2), 2, 2, 2, 0);
                }
                case CLAIM_TWICE_FLUSH_ONE -> {
                    whole(writer.claim(), 1);
                    whole(writer.claim(), 2);
                    writer.flush(1);
                }
            }
            writer.flush();
        }
    }

    private record Case(int strideBytes, int before, Work work) {}

    private static Stream<Case> cases() {
        return Stream.of(32, 64, 128)
                .flatMap(stride -> Stream.of(0, 1, 3, 4, 7)
                        .flatMap(before -> Stream.of(Work.values()).map(work -> new Case(stride, before, work))));
    }

    private static long header(long id) {
        return CqeLayout.header(CqeOpcode.RECV, false, (int) id, (int) id, 0);
    }

    /** Cut short while the user fills an entry: it is his to abort. */
    private static final class HalfFilled extends Exception {
        private static final long serialVersionUID = 1L;
    }

    private static void part(CompletionEntry entry, long id) throws HalfFilled {
        try {
            entry.header(header(id)).workRequestId(id).length(id).detail(id);
        } catch (StoppingMemory.Stopped stopped) {
            throw new HalfFilled();
        }
    }

    private static void whole(CompletionEntry entry, long id) throws HalfFilled {
        part(entry, id);
        try {
            entry.timestamp(0);
            for (int word = 0; word != 11; word++) {
                entry.payload(word, 0);
            }
        } catch (UnsupportedOperationException | IndexOutOfBoundsException noMoreWords) {
            return; // the size of the entries decides how many there are
        } catch (StoppingMemory.Stopped stopped) {
            throw new HalfFilled();
        }
    }

    @ParameterizedTest
    @MethodSource("cases")
    void shouldPublishWhatWasFilledOrNothing(Case given) {
        int stores = 0;
        boolean cut = true;
        while (cut) {
            cut = wasCut(given, stores++);
        }
        assertTrue(stores > 4, "stores of the work that can be cut: " + stores);
    }

    /** Whether the work has so many stores that it was cut. */
    private static boolean wasCut(Case given, int stores) {
        StoppingMemory memory =
                new StoppingMemory(QueueMemory.allocate(CompletionQueue.requiredBytes(CAPACITY, given.strideBytes())));
        CompletionQueue queue = CompletionQueue.ofCapacity(CAPACITY)
                .strideBytes(given.strideBytes())
                .memory(memory)
                .create();
        CompletionWriter writer = queue.writer();
        for (long id = OLD; id != OLD + given.before(); id++) { // leaves words behind in every slot it comes by
            assertTrue(writer.write(header(id), id, id, id, given.strideBytes() == 32 ? 0 : id));
            assertEquals(1, queue.poll(completion -> {}, 1));
        }
        boolean cut = false;
        memory.stopAfter(stores);
        try {
            given.work().run(writer);
        } catch (StoppingMemory.Stopped stopped) {
            cut = true;
        } catch (HalfFilled half) {
            cut = true;
            memory.resume();
            writer.abort();
        }
        memory.resume();
        writer.flush();
        assertEquals(0, writer.entriesInHand());
        assertTrue(writer.write(header(LAST), LAST, LAST, LAST, 0));
        List<Long> seen = new ArrayList<>();
        queue.poll(
                completion -> {
                    long id = completion.workRequestId();
                    assertEquals(id, completion.qpNumber(), () -> given + ", cut before store " + stores);
                    assertEquals(id, completion.length());
                    assertEquals(id, completion.detail());
                    assertEquals(0, completion.hasTimestamp() ? completion.timestamp() : 0);
                    seen.add(id);
                },
                CAPACITY);
        List<Long> once = seen.stream().distinct().sorted().toList();
        assertEquals(once, seen, () -> given + ", cut before store " + stores);
        assertEquals(LAST, seen.get(seen.size() - 1));
        assertTrue(seen.stream().allMatch(id -> id <= 2 || id == LAST), () -> given + ": " + seen);
        if (!cut) {
            assertEquals(given.work().entries() + 1, seen.size());
        }
        return cut;
    }
}
