package io.cqring.simnic.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.memory.QueueMemory;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PayloadPatternTest {
    private final QueueMemory memory = QueueMemory.allocate(256);
    private final PayloadPattern pattern = new PayloadPattern(42);

    @ParameterizedTest
    @ValueSource(ints = {1, 7, 8, 9, 15, 16, 17, 63, 64, 100})
    void everyBitOfThePayloadCountsAndNoBitBehindIt(int length) {
        pattern.write(memory, 64, length, 3, 17);
        byte[] content = new byte[length];
        memory.getBytes(64, content, 0, length);
        memory.fill(64, 128, (byte) 0x5A);
        memory.putBytes(64, content, 0, length);
        assertTrue(pattern.matches(memory, 64, length, 3, 17), "bytes behind the payload must not matter");
        for (int bit = 0; bit < length * 8; bit++) {
            byte[] wrong = content.clone();
            wrong[bit / 8] ^= (byte) (1 << bit % 8);
            memory.putBytes(64, wrong, 0, length);
            assertFalse(pattern.matches(memory, 64, length, 3, 17), "bit " + bit + " of " + length + " bytes");
        }
    }

    @Test
    void anEmptyPayloadMatches() {
        assertTrue(pattern.matches(memory, 64, 0, 3, 17));
    }

    @Test
    void noTwoChunksBeginAlike() {
        Set<Long> seen = new HashSet<>();
        for (int seed = 0; seed < 2; seed++) {
            for (int link = 0; link < 64; link++) {
                for (int counter = 0; counter < 1000; counter++) {
                    new PayloadPattern(seed).write(memory, 0, 8, link, counter);
                    seen.add(memory.getLong(0));
                }
            }
        }
        assertEquals(2 * 64 * 1000, seen.size());
    }

    @Test
    void otherSeedLinkOrCounterIsNoMatch() {
        pattern.write(memory, 0, 64, 3, 17);
        assertFalse(new PayloadPattern(43).matches(memory, 0, 64, 3, 17));
        assertFalse(pattern.matches(memory, 0, 64, 4, 17));
        assertFalse(pattern.matches(memory, 0, 64, 3, 18));
    }
}
