package io.cqring.stress;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import io.cqring.cq.CompletionQueue;
import io.cqring.cq.WorkCompletion;
import io.cqring.memory.QueueMemory;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The observer that all proofs rely on sees every word: whole entries pass, one wrong bit in any word does not. */
class ObserverTest {
    private static final int NUMBER = 9;

    /** A bit that is a field's lowest in each of the words: WQE counter, byte count, vendor error. */
    private static final long VISIBLE_HEADER_BIT = 1 << 8;

    @ParameterizedTest
    @CsvSource({
        "32, WRITE",
        "64, WRITE",
        "128, WRITE",
        "32, STAGE",
        "64, STAGE",
        "128, STAGE",
        "32, CLAIM",
        "64, CLAIM",
        "128, CLAIM",
        "32, FULL",
        "64, FULL",
        "128, FULL"
    })
    void shouldAcceptWholeEntryAndNoticeOneWrongBitInAnyWord(int strideBytes, Fill fill) {
        for (int word = -1; word < strideBytes / Long.BYTES; word++) {
            QueueMemory memory = dirtyMemory();
            CompletionQueue queue = queue(memory, strideBytes);
            write(queue, strideBytes, fill);
            if (word >= 0) {
                int offset = Region.FIRST_SLOT + word * Long.BYTES;
                memory.putLong(offset, memory.getLong(offset) ^ (word == 0 ? VISIBLE_HEADER_BIT : 1));
            }
            Observer seen = new Observer(fill, strideBytes, NUMBER);
            assertEquals(1, queue.poll(seen, 1));
            assertEquals(1, seen.taken);
            if (word < 0) {
                assertEquals(0, seen.wrong);
            } else {
                assertNotEquals(0, seen.wrong, "word " + word);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {32, 64, 128})
    void shouldNoticeOneWrongBitInAnyWordThatPollIntoCopies(int strideBytes) {
        int copied = strideBytes == 32 ? 4 : 5;
        for (int word = -1; word < copied; word++) {
            QueueMemory memory = dirtyMemory();
            CompletionQueue queue = queue(memory, strideBytes);
            write(queue, strideBytes, Fill.WRITE);
            if (word >= 0) {
                int offset = Region.FIRST_SLOT + word * Long.BYTES;
                memory.putLong(offset, memory.getLong(offset) ^ (word == 0 ? VISIBLE_HEADER_BIT : 1));
            }
            Observer seen = new Observer(Fill.WRITE, strideBytes, NUMBER);
            WorkCompletion[] into = {new WorkCompletion()};
            assertEquals(1, queue.pollInto(into, 1));
            seen.onCopy(into[0]);
            assertEquals(word < 0, seen.wrong == 0, "word " + word);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {NUMBER - 1, NUMBER + 1})
    void shouldNoticeWholeEntryThatIsNotTheNext(int expected) {
        CompletionQueue queue = queue(dirtyMemory(), 64);
        write(queue, 64, Fill.WRITE);
        Observer seen = new Observer(Fill.WRITE, 64, expected);
        queue.poll(seen, 1);
        assertEquals(Observer.ORDER, seen.wrong & Observer.ORDER);
    }

    private static QueueMemory dirtyMemory() {
        QueueMemory memory = QueueMemory.allocate(Slices.BYTES);
        memory.fill(0, Slices.BYTES, (byte) 0xAA);
        return memory;
    }

    private static CompletionQueue queue(QueueMemory memory, int strideBytes) {
        return CompletionQueue.ofCapacity(1)
                .strideBytes(strideBytes)
                .memory(memory)
                .create();
    }

    private static void write(CompletionQueue queue, int strideBytes, Fill fill) {
        switch (fill) {
            case WRITE -> Entry.write(queue.writer(), NUMBER, strideBytes);
            case STAGE -> Entry.stage(queue.writer(), NUMBER);
            case CLAIM -> Entry.claim(queue.writer(), NUMBER, strideBytes);
            case FULL -> Entry.full(queue.writer(), NUMBER, strideBytes);
        }
        queue.writer().flush();
    }
}
