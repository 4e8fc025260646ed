package io.cqring.agrona;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.testing.FieldBug;
import io.cqring.testing.Threads;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.agrona.concurrent.ControlledMessageHandler.Action;
import org.agrona.concurrent.UnsafeBuffer;
import org.agrona.concurrent.ringbuffer.RingBuffer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.openjdk.jol.info.ClassLayout;
import org.openjdk.jol.info.FieldLayout;

/** What our ring buffer promises beyond Agrona's. */
@Tag("bothroutes")
class CompletionRingBufferTest {
    /** As drawn: words in front of the slots, and behind the last. */
    private static final int SLOTS = 384;

    private static final int TRAILER = 3 * 128;

    private static UnsafeBuffer aligned(int bytes) {
        ByteBuffer raw = ByteBuffer.allocateDirect(bytes + 128).alignedSlice(64);
        return new UnsafeBuffer(raw, 0, bytes);
    }

    private static String refusal(Class<? extends Throwable> type, Executable call) {
        return assertThrows(type, call).getMessage();
    }

    /** The bytes of each message and of the words around it, and the queue's header word left to the queue. */
    @Test
    void shouldLieInTheSlotAsDrawn() {
        UnsafeBuffer buffer = aligned(SLOTS + 2 * 128 + TRAILER);
        buffer.setMemory(0, buffer.capacity(), (byte) 0xEE);
        CompletionRingBuffer ring = new CompletionRingBuffer(buffer);
        ByteBuffer bytes = buffer.byteBuffer().duplicate().order(ByteOrder.LITTLE_ENDIAN);
        for (int lap = 0; lap < 4; lap++) {
            for (int slot = SLOTS; slot <= SLOTS + 128; slot += 128) {
                long invalid = bytes.getLong(slot) & 1;
                int index = ring.tryClaim(0x1234567, 3);
                assertEquals(slot + 40, index);
                buffer.setMemory(index, 3, (byte) 0xAB);
                assertEquals(invalid, bytes.getLong(slot) & 1, "not the host's before commit");
                ring.commit(index);
                assertEquals(
                        7 << 1 | (lap % 2 == 0 ? 1 : 0), bytes.getLong(slot), "header: RECV_IMM and the owner bit");
                assertEquals(0, bytes.getLong(slot + 8));
                assertEquals(1, bytes.getLong(slot + 16));
                assertEquals(0x1234567L << 32 | 3, bytes.getLong(slot + 24));
                assertEquals(0x100, bytes.getLong(slot + 32));
                assertEquals(0xABABABL, bytes.getLong(slot + 40), "nothing behind the message");
                for (int word = slot + 48; word < slot + 128; word += 8) {
                    assertEquals(0, bytes.getLong(word));
                }
                assertEquals(1, ring.read((t, b, i, l) -> {}));
                buffer.setMemory(slot + 40, 88, (byte) 0xEE); // the next lap must clear this
            }
        }
        assertEquals(8, bytes.getLong(SLOTS + 2 * 128), "claimed sequence");
    }

    @Test
    void shouldSayWhatItNeeds() {
        for (int messages : new int[] {1, 2, 16, 1 << 23}) {
            assertEquals(
                    SLOTS + 128L * messages + TRAILER, CompletionRingBuffer.requiredBytes(messages), "" + messages);
        }
        assertEquals(88, CompletionRingBuffer.ofMessages(1).maxMsgLength());
        assertEquals(
                "capacity must be a power of two, 1 or more: 3",
                refusal(IllegalArgumentException.class, () -> CompletionRingBuffer.ofMessages(3)));
        assertEquals(
                "messages must be at most 8388608: 16777216",
                refusal(IllegalArgumentException.class, () -> CompletionRingBuffer.ofMessages(1 << 24)));
    }

    @FieldBug(13)
    @Test
    void shouldRefuseABufferOfAnotherSizeOrKind() {
        int four = SLOTS + 4 * 128 + TRAILER;
        assertEquals(4 * 128, new CompletionRingBuffer(aligned(four)).capacity());
        for (int bytes : new int[] {0, 1, 128, four - 1, four + 1, four + 128, 2 * four}) {
            UnsafeBuffer buffer = aligned(bytes);
            String message = refusal(IllegalArgumentException.class, () -> new CompletionRingBuffer(buffer));
            assertTrue(message.startsWith("buffer must have the bytes of a power of two of messages, "), message);
            assertTrue(message.endsWith(": " + bytes), message);
        }
        assertTrue(refusal(
                        IllegalArgumentException.class,
                        () -> new CompletionRingBuffer(new UnsafeBuffer(new byte[four])))
                .startsWith("buffer must wrap a direct ByteBuffer"));
        UnsafeBuffer crooked =
                new UnsafeBuffer(ByteBuffer.allocateDirect(four + 256).alignedSlice(64), 8, four);
        assertThrows(IllegalArgumentException.class, () -> new CompletionRingBuffer(crooked));
    }

    /** A buffer that starts in the middle of another: nothing before or behind it is touched. */
    @Test
    void shouldTouchNothingAroundItsBuffer() {
        int bytes = SLOTS + 2 * 128 + TRAILER;
        UnsafeBuffer all = aligned(64 + bytes + 64);
        all.setMemory(0, all.capacity(), (byte) 0x77);
        CompletionRingBuffer ring = new CompletionRingBuffer(new UnsafeBuffer(all, 64, bytes));
        UnsafeBuffer source = new UnsafeBuffer(new byte[88]);
        for (int i = 0; i < 9; i++) {
            assertTrue(ring.write(1, source, 0, 88));
            assertEquals(1, ring.read((t, b, index, l) -> {}));
            ring.nextCorrelationId();
            ring.consumerHeartbeatTime(-1);
        }
        for (int i = 0; i < 64; i++) {
            assertEquals(0x77, all.getByte(i));
            assertEquals(0x77, all.getByte(64 + bytes + i));
        }
    }

    @Test
    void shouldClaimNothingIfTheSourceHasNoSuchBytes() {
        CompletionRingBuffer ring = CompletionRingBuffer.ofMessages(2);
        UnsafeBuffer source = new UnsafeBuffer(new byte[10]);
        assertThrows(IndexOutOfBoundsException.class, () -> ring.write(1, source, 5, 6));
        assertThrows(IndexOutOfBoundsException.class, () -> ring.write(1, source, -1, 2));
        assertThrows(NullPointerException.class, () -> ring.write(1, null, 0, 0));
        assertEquals(0, ring.producerPosition());
        assertTrue(ring.write(1, source, 5, 5));
        assertEquals(1, ring.read((t, b, i, l) -> {}));
    }

    @Test
    void shouldRefuseAnIndexBetweenMessagesAndAClaimThatWasNeverMade() {
        CompletionRingBuffer ring = CompletionRingBuffer.ofMessages(4);
        int index = ring.tryClaim(1, 8);
        for (int wrong : new int[] {index - 1, index + 1, index + 8, index - 128, index + 4 * 128}) {
            assertEquals(
                    "no message lies at index " + wrong,
                    refusal(IllegalArgumentException.class, () -> ring.commit(wrong)));
        }
        assertTrue(refusal(IllegalStateException.class, () -> ring.commit(index + 128))
                .startsWith("message at index " + (index + 128) + " is not claimed"));
        ring.commit(index);
        assertEquals(1, ring.read((t, b, i, l) -> {}));
    }

    @Test
    void shouldRefuseAHandlerThatReadsItsOwnRing() {
        CompletionRingBuffer ring = CompletionRingBuffer.ofMessages(8);
        UnsafeBuffer source = new UnsafeBuffer(new byte[8]);
        for (int i = 1; i <= 8; i++) {
            assertTrue(ring.write(i, source, 0, 8));
        }
        List<Integer> types = new ArrayList<>();
        Runnable attempts = () -> {
            assertThrows(IllegalStateException.class, () -> ring.read((t, b, i, l) -> types.add(-t)));
            assertThrows(IllegalStateException.class, () -> ring.controlledRead((t, b, i, l) -> Action.COMMIT));
            assertThrows(IllegalStateException.class, ring::releaseConsumer);
        };
        assertEquals(
                3,
                ring.read(
                        (t, b, i, l) -> {
                            attempts.run();
                            types.add(t);
                        },
                        3));
        assertEquals(5, ring.controlledRead((t, b, i, l) -> {
            attempts.run();
            types.add(t);
            return t % 2 == 0 ? Action.COMMIT : Action.CONTINUE;
        }));
        assertEquals(List.of(1, 2, 3, 4, 5, 6, 7, 8), types);
        ring.releaseConsumer();
    }

    /** One thread that plays both ends may write from its handler. */
    @Test
    void shouldLetAHandlerWriteToItsOwnRing() {
        CompletionRingBuffer ring = CompletionRingBuffer.ofMessages(4);
        UnsafeBuffer source = new UnsafeBuffer(new byte[8]);
        assertTrue(ring.write(1, source, 0, 8));
        assertEquals(1, ring.read((t, b, i, l) -> assertTrue(ring.write(2, source, 0, 8)), 1));
        List<Integer> types = new ArrayList<>();
        assertEquals(1, ring.read((t, b, i, l) -> types.add(t)));
        assertEquals(List.of(2), types);
    }

    @Test
    void shouldRefuseASecondThreadAtEitherEndAndDisturbNothing() {
        CompletionRingBuffer ring = CompletionRingBuffer.ofMessages(4);
        UnsafeBuffer source = new UnsafeBuffer(new byte[8]);
        int claim = ring.tryClaim(1, 8);
        int[] reads = {0};
        assertEquals(0, ring.read((t, b, i, l) -> reads[0]++));
        Executable strange = () -> {
            assertThrows(IllegalStateException.class, () -> ring.write(2, source, 0, 8));
            assertThrows(IllegalStateException.class, () -> ring.tryClaim(2, 8));
            assertThrows(IllegalStateException.class, () -> ring.commit(claim));
            assertThrows(IllegalStateException.class, () -> ring.abort(claim));
            assertThrows(IllegalStateException.class, () -> ring.read((t, b, i, l) -> reads[0] -= 100));
            assertThrows(IllegalStateException.class, () -> ring.controlledRead((t, b, i, l) -> Action.COMMIT));
            assertThrows(IllegalStateException.class, ring::releaseProducer);
            assertThrows(IllegalStateException.class, ring::releaseConsumer);
        };
        Threads.run(spin -> run(strange));
        ring.commit(claim);
        assertEquals(1, ring.read((t, b, i, l) -> {
            Threads.run(spin -> run(strange));
            reads[0]++;
        }));
        assertTrue(ring.write(3, source, 0, 8));
        assertEquals(1, ring.controlledRead((t, b, i, l) -> {
            Threads.run(spin -> run(strange));
            reads[0]++;
            return Action.CONTINUE;
        }));
        assertEquals(2, reads[0]);
    }

    private static void run(Executable body) {
        try {
            body.execute();
        } catch (Error e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void shouldHandBothRolesOnWithTheOpenClaims() {
        CompletionRingBuffer ring = CompletionRingBuffer.ofMessages(4);
        int first = ring.tryClaim(1, 0);
        int second = ring.tryClaim(2, 0);
        ring.commit(second);
        assertEquals(0, ring.read((t, b, i, l) -> {}));
        ring.releaseProducer();
        ring.releaseConsumer();
        Threads.run(spin -> {
            List<Integer> types = new ArrayList<>();
            ring.commit(first);
            assertEquals(2, ring.read((t, b, i, l) -> types.add(t)));
            assertEquals(List.of(1, 2), types);
        });
    }

    /** Claims of a thread that ended: never seen, their slots are used again, and positions are right again. */
    @Test
    void shouldGiveBackTheClaimsOfAThreadThatEnded() {
        CompletionRingBuffer ring = CompletionRingBuffer.ofMessages(4);
        int[] index = new int[2];
        Threads.run(spin -> {
            assertTrue(ring.write(1, new UnsafeBuffer(new byte[0]), 0, 0));
            index[0] = ring.tryClaim(2, 8);
            index[1] = ring.tryClaim(3, 8);
            ring.commit(index[1]);
        });
        assertEquals(3 * 128, ring.producerPosition());
        assertThrows(IllegalStateException.class, () -> ring.commit(index[0]));
        List<Integer> types = new ArrayList<>();
        for (int type = 4; type < 7; type++) {
            assertTrue(ring.write(type, new UnsafeBuffer(new byte[0]), 0, 0));
        }
        assertFalse(ring.write(7, new UnsafeBuffer(new byte[0]), 0, 0), "full");
        assertEquals(4 * 128, ring.producerPosition());
        assertEquals(4, ring.read((t, b, i, l) -> types.add(t)));
        assertEquals(List.of(1, 4, 5, 6), types);
        assertEquals(0, ring.size());
    }

    @Test
    void shouldRefuseEveryCallAfterClose() {
        CompletionRingBuffer ring = CompletionRingBuffer.ofMessages(4);
        int index = ring.tryClaim(1, 0);
        ring.close();
        for (Executable call : List.<Executable>of(
                () -> ring.write(1, new UnsafeBuffer(new byte[0]), 0, 0),
                () -> ring.tryClaim(1, 0),
                () -> ring.commit(index),
                () -> ring.abort(index),
                () -> ring.read((t, b, i, l) -> {}),
                () -> ring.controlledRead((t, b, i, l) -> Action.COMMIT))) {
            assertEquals("completion queue is closed", refusal(IllegalStateException.class, call));
        }
    }

    private static CompletionRingBuffer with(int messages) {
        CompletionRingBuffer ring = CompletionRingBuffer.ofMessages(8);
        for (int type = 1; type <= messages; type++) {
            assertTrue(ring.write(type, new UnsafeBuffer(new byte[0]), 0, 0));
        }
        return ring;
    }

    /** A call under way finishes: it says what it has read, whatever the handler answers after the close. */
    @Test
    void shouldFinishAControlledReadThatIsClosedMeanwhile() {
        for (Action action : Action.values()) {
            CompletionRingBuffer ring = with(3);
            List<Integer> types = new ArrayList<>();
            int read = ring.controlledRead((type, buffer, index, length) -> {
                types.add(type);
                if (type == 2) {
                    ring.close();
                }
                return type == 2 ? action : Action.CONTINUE;
            });
            assertEquals(List.of(1, 2), types, "closed is the end: " + action);
            assertEquals(action == Action.ABORT ? 1 : 2, read, () -> "" + action);
            assertEquals(
                    "completion queue is closed",
                    refusal(IllegalStateException.class, () -> ring.controlledRead((t, b, i, l) -> Action.COMMIT)));
        }
    }

    @Test
    void shouldPassOnWhatTheHandlerThrowsAfterAClose() {
        for (RuntimeException mine : List.of(new ArithmeticException("mine"), new IllegalStateException("mine"))) {
            CompletionRingBuffer controlled = with(3);
            assertEquals(
                    "mine",
                    refusal(
                            mine.getClass(),
                            () -> controlled.controlledRead((t, b, i, l) -> {
                                controlled.close();
                                throw mine;
                            })));
            CompletionRingBuffer plain = with(3);
            assertEquals(
                    "mine",
                    refusal(
                            mine.getClass(),
                            () -> plain.read((t, b, i, l) -> {
                                plain.close();
                                throw mine;
                            })));
        }
    }

    /** An aborted claim in the batch makes a read look once more; closed, it says what it has read. */
    @Test
    void shouldFinishAReadThatIsClosedMeanwhile() {
        CompletionRingBuffer ring = with(2);
        ring.abort(ring.tryClaim(1, 0));
        assertTrue(ring.write(3, new UnsafeBuffer(new byte[0]), 0, 0));
        List<Integer> types = new ArrayList<>();
        assertEquals(
                3,
                ring.read(
                        (type, buffer, index, length) -> {
                            types.add(type);
                            if (type == 2) {
                                ring.close();
                            }
                        },
                        5));
        assertEquals(List.of(1, 2, 3), types, "the poll under way finishes");
    }

    /** A ring full of aborted claims, and one in which the writer keeps aborting: a read ends, and counts none. */
    @Test
    void shouldEndARingFullOfAbortedClaims() {
        CompletionRingBuffer ring = CompletionRingBuffer.ofMessages(4);
        for (int lap = 0; lap < 5; lap++) {
            for (int i = 0; i < 4; i++) {
                ring.abort(ring.tryClaim(1, 88));
            }
            assertEquals(RingBuffer.INSUFFICIENT_CAPACITY, ring.tryClaim(1, 88));
            assertEquals(4 * 128, ring.size());
            int read = lap % 2 == 0
                    ? ring.read((t, b, i, l) -> {
                        throw new AssertionError();
                    })
                    : ring.controlledRead((t, b, i, l) -> {
                        throw new AssertionError();
                    });
            assertEquals(0, read);
            assertEquals(0, ring.size());
        }
    }

    /** All that a read stores lies 128 bytes from the object's ends, so from its neighbours. */
    @FieldBug(102)
    @Test
    void shouldKeepWhatAReadStoresOnLinesOfItsOwn() {
        ClassLayout layout = ClassLayout.parseClass(ReadTarget.class);
        List<FieldLayout> hot = layout.fields().stream()
                .filter(f -> !f.name().matches("[a-z]\\d{3}"))
                .collect(Collectors.toList());
        assertEquals(
                new TreeSet<>(Arrays.asList("aborted", "buffer", "controlled", "handler")),
                hot.stream().map(FieldLayout::name).collect(Collectors.toCollection(TreeSet::new)));
        for (FieldLayout field : hot) {
            assertTrue(field.offset() >= 128, layout::toPrintable);
            assertTrue(layout.instanceSize() - field.offset() - field.size() >= 128, layout::toPrintable);
        }
    }
}
