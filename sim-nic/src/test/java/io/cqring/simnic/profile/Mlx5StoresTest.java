package io.cqring.simnic.profile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.ArmMode;
import io.cqring.cq.CqeLayout;
import io.cqring.cq.CqeOpcode;
import io.cqring.memory.QueueMemory;
import io.cqring.testing.FieldBug;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** No lock orders the stores of this driver and this device: the words that the other end looks at are release stores, and come last. */
class Mlx5StoresTest {
    private static final int RECORD = 4096;
    private static final int DOORBELL = 0x20;
    private static final int RING = 8192;

    /** Writes each store down. */
    private static final class Recorded extends TamperedMemory {
        final List<String> stores = new ArrayList<>();

        Recorded(QueueMemory real) {
            super(real);
        }

        @Override
        protected long tamper(long offset, long value) {
            stores.add("release " + offset);
            return value;
        }

        @Override
        public void putLong(long offset, long value) {
            stores.add("plain " + offset);
            super.putLong(offset, value);
        }

        @Override
        public void putLongOpaque(long offset, long value) {
            stores.add("opaque " + offset);
            super.putLongOpaque(offset, value);
        }

        List<String> take() {
            final List<String> taken = List.copyOf(stores);
            stores.clear();
            return taken;
        }
    }

    private static void send(Mlx5Writer writer, boolean staged, int counter) {
        final long header = CqeLayout.header(CqeOpcode.RC_SEND, false, counter, 5, 0);
        assertTrue(staged ? writer.stage(header, 0, 0, 0, 0) : writer.write(header, 0, 0, 0, 0));
    }

    /** An entry of 64 bytes: seven words in any order, then the one with the owner bit, once. */
    private static void assertEntry(List<String> stores, int entry) {
        final int last = stores.size() - 1;
        assertEquals("release " + (entry + 56), stores.get(last));
        for (String store : stores.subList(0, last)) {
            assertTrue(store.startsWith("plain "), () -> store + " of " + stores);
            final int offset = Integer.parseInt(store.substring("plain ".length()));
            assertTrue(offset >= RING && offset != entry + 56, () -> store + " of " + stores);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    @FieldBug(94)
    void whatTheOtherEndLooksAtIsReleasedLast(boolean compresses) {
        final Recorded memory = new Recorded(QueueMemory.allocate(Mlx5Queue.requiredBytes(8, 64)));
        final Mlx5Queue queue = Mlx5Queue.create(memory, 8, 64, 1, 0, compresses);
        final Posted work = new Posted(0);
        queue.register(5, work);
        work.sends(10, 99);
        memory.take();
        for (int lap = 0; lap < 3; lap++) {
            queue.arm(ArmMode.NEXT);
            assertEquals(List.of("release " + RECORD, "opaque " + DOORBELL), memory.take());
            send(queue.writer(), false, 3 * lap);
            assertEntry(memory.take(), RING + 3 * lap % 8 * 64);
            send(queue.writer(), true, 3 * lap + 1);
            send(queue.writer(), true, 3 * lap + 2);
            queue.writer().flush();
            if (compresses) {
                assertEntry(memory.take(), RING + (3 * lap + 1) % 8 * 64); // the title behind its minis
            } else {
                memory.take();
            }
            assertEquals(3, queue.poll(completion -> {}, 9));
            final List<String> taken = memory.take();
            assertEquals("release " + RECORD, taken.get(taken.size() - 1), "given back after the last store to a slot");
            for (String store : taken) {
                assertTrue(store.equals("release " + RECORD) || (compresses && store.startsWith("plain ")), store);
            }
        }
    }
}
