package io.cqring.agrona;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.testing.Threads;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import org.agrona.ExpandableArrayBuffer;
import org.agrona.MutableDirectBuffer;
import org.agrona.concurrent.ControlledMessageHandler.Action;
import org.agrona.concurrent.MessageHandler;
import org.agrona.concurrent.UnsafeBuffer;
import org.agrona.concurrent.ringbuffer.OneToOneRingBuffer;
import org.agrona.concurrent.ringbuffer.RingBuffer;
import org.agrona.concurrent.ringbuffer.RingBufferDescriptor;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** One body, run against Agrona's ring buffer and ours, both of 2048 bytes: what holds for theirs holds for ours. */
@Tag("bothroutes")
class RingBufferContractTest {
    private static final int CAPACITY = 2048;
    private static final int LONGEST = 88;
    private static final List<Action> ACTIONS = List.of(Action.values());

    private enum Kind {
        AGRONA {
            @Override
            RingBuffer make() {
                return new OneToOneRingBuffer(
                        new UnsafeBuffer(ByteBuffer.allocateDirect(CAPACITY + RingBufferDescriptor.TRAILER_LENGTH)));
            }
        },
        CQRING {
            @Override
            RingBuffer make() {
                return CompletionRingBuffer.ofMessages(CAPACITY / 128);
            }
        };

        abstract RingBuffer make();
    }

    /** A message as a test sees it. */
    private record Message(int type, List<Byte> bytes) {
        static Message of(int type, byte... bytes) {
            List<Byte> list = new ArrayList<>();
            for (byte b : bytes) {
                list.add(b);
            }
            return new Message(type, list);
        }

        static Message read(int type, MutableDirectBuffer buffer, int index, int length) {
            byte[] bytes = new byte[length];
            buffer.getBytes(index, bytes);
            return of(type, bytes);
        }

        static Message random(Random random) {
            byte[] bytes = new byte[random.nextInt(LONGEST + 1)];
            random.nextBytes(bytes);
            return of(1 + random.nextInt(Integer.MAX_VALUE), bytes);
        }

        UnsafeBuffer source(int offset) {
            byte[] source = new byte[offset + bytes.size() + 3];
            Arrays.fill(source, (byte) 0x5A);
            for (int i = 0; i < bytes.size(); i++) {
                source[offset + i] = bytes.get(i);
            }
            return new UnsafeBuffer(source);
        }

        void putInto(MutableDirectBuffer buffer, int index) {
            buffer.putBytes(index, source(0), 0, bytes.size());
        }
    }

    private static boolean write(RingBuffer ring, Message message) {
        return ring.write(message.type(), message.source(5), 5, message.bytes().size());
    }

    private static int claim(RingBuffer ring, Message message) {
        int index = ring.tryClaim(message.type(), message.bytes().size());
        if (index > 0) {
            message.putInto(ring.buffer(), index);
        }
        return index;
    }

    private static List<Message> readAll(RingBuffer ring) {
        List<Message> got = new ArrayList<>();
        int read;
        // Theirs stops where the ring wraps and at padding, so two empty reads in a row mean empty.
        int empty = 0;
        do {
            int before = got.size();
            read = ring.read((type, buffer, index, length) -> got.add(Message.read(type, buffer, index, length)));
            assertEquals(got.size() - before, read);
            empty = read == 0 ? empty + 1 : 0;
        } while (empty < 2);
        return got;
    }

    private static void assertEmpty(RingBuffer ring) {
        assertEquals(List.of(), readAll(ring));
        assertEquals(0, ring.size());
        assertEquals(ring.producerPosition(), ring.consumerPosition());
    }

    @ParameterizedTest
    @EnumSource
    void shouldBeNewAndEmpty(Kind kind) {
        RingBuffer ring = kind.make();
        assertEquals(CAPACITY, ring.capacity());
        assertTrue(ring.maxMsgLength() >= LONGEST);
        assertTrue(ring.buffer().capacity() > CAPACITY);
        assertEquals(0, ring.size());
        assertEquals(0, ring.producerPosition());
        assertEquals(0, ring.consumerPosition());
        assertEquals(0, ring.consumerHeartbeatTime());
        assertFalse(ring.unblock());
        assertEmpty(ring);
    }

    @ParameterizedTest
    @EnumSource
    void shouldCarryEveryLengthBothWaysOverManyLaps(Kind kind) {
        RingBuffer ring = kind.make();
        Random random = new Random(7);
        for (int lap = 0; lap < 20; lap++) {
            for (int length = 0; length <= LONGEST; length++) {
                byte[] bytes = new byte[length];
                random.nextBytes(bytes);
                Message message = Message.of(1 + lap * 100 + length, bytes);
                if (lap % 2 == 0) {
                    assertTrue(write(ring, message));
                } else {
                    ring.commit(claim(ring, message));
                }
                assertEquals(List.of(message), readAll(ring));
            }
        }
        assertEmpty(ring);
    }

    @ParameterizedTest
    @EnumSource
    void shouldCarryTheLargestType(Kind kind) {
        RingBuffer ring = kind.make();
        for (int type : new int[] {1, 255, 1 << 16, 1 << 24, Integer.MAX_VALUE}) {
            Message message = Message.of(type, (byte) 9);
            assertTrue(write(ring, message));
            assertEquals(List.of(message), readAll(ring));
        }
    }

    @ParameterizedTest
    @EnumSource
    void shouldRefuseWhatDoesNotFitAndLoseNothing(Kind kind) {
        RingBuffer ring = kind.make();
        for (int round = 0; round < 50; round++) {
            List<Message> written = new ArrayList<>();
            Message message;
            do {
                message = Message.of(1 + written.size(), new byte[LONGEST]);
                written.add(message);
            } while (write(ring, message));
            written.remove(message);
            assertTrue(written.size() >= 15, () -> "" + written.size());
            assertEquals(RingBuffer.INSUFFICIENT_CAPACITY, claim(ring, message));
            assertFalse(write(ring, message));
            assertTrue(ring.size() <= CAPACITY);
            assertEquals(written, readAll(ring));
            assertEmpty(ring);
        }
    }

    @ParameterizedTest
    @EnumSource
    void shouldHideAClaimAndAllBehindItUntilItIsCommitted(Kind kind) {
        RingBuffer ring = kind.make();
        Message first = Message.of(1, (byte) 1);
        Message second = Message.of(2, (byte) 2, (byte) 2);
        Message third = Message.of(3);
        Message fourth = Message.of(4, new byte[LONGEST]);
        int a = claim(ring, first);
        int b = claim(ring, second);
        assertTrue(a > 0);
        assertTrue(b > 0);
        assertTrue(write(ring, third));
        int d = claim(ring, fourth);
        long producer = ring.producerPosition();
        assertTrue(producer >= 4 * 8, "claims count");
        assertEquals(producer, ring.size());
        assertEquals(List.of(), readAll(ring));
        ring.commit(b);
        assertEquals(List.of(), readAll(ring));
        ring.commit(a);
        assertEquals(List.of(first, second, third), readAll(ring));
        assertEquals(List.of(), readAll(ring));
        ring.commit(d);
        assertEquals(producer, ring.producerPosition());
        assertEquals(List.of(fourth), readAll(ring));
        assertEmpty(ring);
    }

    @ParameterizedTest
    @EnumSource
    void shouldPassOverAbortedClaims(Kind kind) {
        RingBuffer ring = kind.make();
        for (int round = 0; round < 100; round++) { // every position in the lap
            Message kept = Message.of(5, (byte) round);
            int a = claim(ring, Message.of(1, (byte) 1));
            int b = claim(ring, Message.of(2, (byte) 2));
            int c = claim(ring, kept);
            int d = claim(ring, Message.of(4));
            ring.abort(b);
            ring.commit(c);
            assertEquals(List.of(), readAll(ring));
            ring.abort(a);
            ring.abort(d);
            assertEquals(List.of(kept), readAll(ring));
            assertEmpty(ring);
        }
    }

    @ParameterizedTest
    @EnumSource
    void shouldFindOneMessageBehindAnAbortedClaimWithLimitOne(Kind kind) {
        RingBuffer ring = kind.make();
        ring.abort(claim(ring, Message.of(1, (byte) 1)));
        Message kept = Message.of(2, (byte) 2);
        assertTrue(write(ring, kept));
        List<Message> got = new ArrayList<>();
        MessageHandler handler = (type, buffer, index, length) -> got.add(Message.read(type, buffer, index, length));
        assertEquals(1, ring.read(handler, 1));
        ring.abort(claim(ring, Message.of(1, (byte) 1)));
        assertTrue(write(ring, kept));
        assertEquals(
                1,
                ring.controlledRead(
                        (type, buffer, index, length) -> {
                            got.add(Message.read(type, buffer, index, length));
                            return Action.CONTINUE;
                        },
                        1));
        assertEquals(List.of(kept, kept), got);
        ring.abort(claim(ring, Message.of(1, (byte) 1)));
        assertEquals(0, ring.controlledRead((type, buffer, index, length) -> Action.CONTINUE, 1));
        assertEmpty(ring);
    }

    @ParameterizedTest
    @EnumSource
    void shouldRefuseToCloseAClaimTwice(Kind kind) {
        RingBuffer ring = kind.make();
        int blocking = claim(ring, Message.of(9));
        int a = claim(ring, Message.of(1));
        int b = claim(ring, Message.of(2));
        ring.commit(a);
        ring.abort(b);
        for (int index : new int[] {a, b}) {
            assertThrows(IllegalStateException.class, () -> ring.commit(index));
            assertThrows(IllegalStateException.class, () -> ring.abort(index));
        }
        ring.commit(blocking);
        assertThrows(IllegalStateException.class, () -> ring.commit(blocking));
        assertThrows(IllegalStateException.class, () -> ring.abort(blocking));
        assertEquals(List.of(Message.of(9), Message.of(1)), readAll(ring));
        assertEmpty(ring);
    }

    @ParameterizedTest
    @EnumSource
    void shouldRefuseAnIndexOutOfBounds(Kind kind) {
        RingBuffer ring = kind.make();
        for (int index : new int[] {Integer.MIN_VALUE, -1, 0, 7, 1 << 20, Integer.MAX_VALUE}) {
            assertThrows(IllegalArgumentException.class, () -> ring.commit(index), () -> "" + index);
            assertThrows(IllegalArgumentException.class, () -> ring.abort(index), () -> "" + index);
        }
    }

    @ParameterizedTest
    @EnumSource
    void shouldRefuseBadTypesAndLengthsAndWriteNothing(Kind kind) {
        RingBuffer ring = kind.make();
        UnsafeBuffer source = new UnsafeBuffer(new byte[4096]);
        for (int type : new int[] {0, -1, Integer.MIN_VALUE}) {
            assertThrows(IllegalArgumentException.class, () -> ring.write(type, source, 0, 8));
            assertThrows(IllegalArgumentException.class, () -> ring.tryClaim(type, 8));
        }
        for (int length : new int[] {-1, Integer.MIN_VALUE, ring.maxMsgLength() + 1, Integer.MAX_VALUE}) {
            assertThrows(IllegalArgumentException.class, () -> ring.write(1, source, 0, length));
            assertThrows(IllegalArgumentException.class, () -> ring.tryClaim(1, length));
        }
        assertEquals(0, ring.producerPosition());
        assertEmpty(ring);
    }

    @ParameterizedTest
    @EnumSource
    void shouldReadNoMoreThanTheLimit(Kind kind) {
        RingBuffer ring = kind.make();
        for (int i = 1; i <= 10; i++) {
            assertTrue(write(ring, Message.of(i)));
        }
        List<Integer> types = new ArrayList<>();
        MessageHandler handler = (type, buffer, index, length) -> types.add(type);
        assertEquals(0, ring.read(handler, 0));
        assertEquals(0, ring.read(handler, -1));
        assertEquals(0, ring.controlledRead((t, b, i, l) -> Action.CONTINUE, 0));
        assertEquals(0, ring.controlledRead((t, b, i, l) -> Action.CONTINUE, Integer.MIN_VALUE));
        assertEquals(3, ring.read(handler, 3));
        assertEquals(List.of(1, 2, 3), types);
        assertEquals(
                4,
                ring.controlledRead(
                        (type, buffer, index, length) -> {
                            types.add(type);
                            return Action.CONTINUE;
                        },
                        4));
        assertEquals(3, ring.read(handler, Integer.MAX_VALUE));
        assertEquals(List.of(1, 2, 3, 4, 5, 6, 7, 8, 9, 10), types);
        assertEmpty(ring);
    }

    @ParameterizedTest
    @EnumSource
    void shouldStopAtAbortAndShowThatMessageAgain(Kind kind) {
        RingBuffer ring = kind.make();
        for (int i = 1; i <= 5; i++) {
            assertTrue(write(ring, Message.of(i, new byte[LONGEST])));
        }
        long record = ring.producerPosition() / 5;
        List<Integer> types = new ArrayList<>();
        assertEquals(2, ring.controlledRead((type, buffer, index, length) -> {
            types.add(type);
            return type == 3 ? Action.ABORT : Action.CONTINUE;
        }));
        assertEquals(2 * record, ring.consumerPosition());
        assertEquals(0, ring.controlledRead((type, buffer, index, length) -> {
            types.add(type);
            return Action.ABORT;
        }));
        assertEquals(2 * record, ring.consumerPosition());
        assertEquals(List.of(1, 2, 3, 3), types);
        assertEquals(3, readAll(ring).size());
        assertEmpty(ring);
    }

    @ParameterizedTest
    @EnumSource
    void shouldStopAfterBreak(Kind kind) {
        RingBuffer ring = kind.make();
        for (int i = 1; i <= 5; i++) {
            assertTrue(write(ring, Message.of(i, new byte[LONGEST])));
        }
        long record = ring.producerPosition() / 5;
        assertEquals(
                2, ring.controlledRead((type, buffer, index, length) -> type == 2 ? Action.BREAK : Action.CONTINUE));
        assertEquals(2 * record, ring.consumerPosition());
        assertEquals(List.of(3, 4, 5), readAll(ring).stream().map(Message::type).toList());
    }

    /** CONTINUE gives nothing back before the end, COMMIT gives all back at once, and what follows is given back at the end. */
    @ParameterizedTest
    @EnumSource
    void shouldGiveBackAtCommitAndAtTheEnd(Kind kind) {
        RingBuffer ring = kind.make();
        for (int i = 1; i <= 12; i++) {
            assertTrue(write(ring, Message.of(i, new byte[LONGEST])));
        }
        long record = ring.producerPosition() / 12;
        List<Long> seen = new ArrayList<>();
        assertEquals(12, ring.controlledRead((type, buffer, index, length) -> {
            seen.add(ring.consumerPosition() / record);
            return type % 5 == 0 ? Action.COMMIT : Action.CONTINUE;
        }));
        assertEquals(List.of(0L, 0L, 0L, 0L, 0L, 5L, 5L, 5L, 5L, 5L, 10L, 10L), seen);
        assertEquals(12 * record, ring.consumerPosition());
        assertEmpty(ring);
    }

    @ParameterizedTest
    @EnumSource
    void shouldEndAtTheLimitAfterCommitOrAbort(Kind kind) {
        RingBuffer ring = kind.make();
        for (int i = 1; i <= 6; i++) {
            assertTrue(write(ring, Message.of(i)));
        }
        long record = ring.producerPosition() / 6;
        assertEquals(2, ring.controlledRead((type, buffer, index, length) -> Action.COMMIT, 2));
        assertEquals(2 * record, ring.consumerPosition());
        assertEquals(
                1, ring.controlledRead((type, buffer, index, length) -> type == 3 ? Action.COMMIT : Action.ABORT, 9));
        assertEquals(3 * record, ring.consumerPosition());
        assertEquals(List.of(4, 5, 6), readAll(ring).stream().map(Message::type).toList());
    }

    @ParameterizedTest
    @EnumSource
    void shouldCountAMessageWhoseHandlerThrowsAsRead(Kind kind) {
        RingBuffer ring = kind.make();
        for (int i = 1; i <= 6; i++) {
            assertTrue(write(ring, Message.of(i)));
        }
        IllegalArgumentException thrown = new IllegalArgumentException("poison");
        List<Integer> types = new ArrayList<>();
        assertSame(
                thrown,
                assertThrows(
                        IllegalArgumentException.class,
                        () -> ring.read((type, buffer, index, length) -> {
                            types.add(type);
                            if (type == 2) {
                                throw thrown;
                            }
                        })));
        assertSame(
                thrown,
                assertThrows(
                        IllegalArgumentException.class,
                        () -> ring.controlledRead((type, buffer, index, length) -> {
                            types.add(type);
                            if (type == 4) {
                                throw thrown;
                            }
                            return Action.COMMIT;
                        })));
        assertEquals(List.of(1, 2, 3, 4), types);
        assertEquals(List.of(5, 6), readAll(ring).stream().map(Message::type).toList());
        assertEmpty(ring);
    }

    @ParameterizedTest
    @EnumSource
    void shouldGiveEveryCorrelationIdOnce(Kind kind) {
        RingBuffer ring = kind.make();
        assertEquals(0, ring.nextCorrelationId());
        assertEquals(1, ring.nextCorrelationId());
        int each = 20_000;
        List<Set<Long>> ids = Collections.synchronizedList(new ArrayList<>());
        Threads.Body body = spin -> {
            Set<Long> own = new TreeSet<>();
            for (int i = 0; i < each; i++) {
                own.add(ring.nextCorrelationId());
            }
            ids.add(own);
        };
        Threads.run(body, body, body);
        Set<Long> all = new TreeSet<>();
        ids.forEach(all::addAll);
        assertEquals(3 * each, all.size());
        assertEquals(2 + 3L * each, ring.nextCorrelationId());
        assertEmpty(ring);
    }

    @ParameterizedTest
    @EnumSource
    void shouldKeepTheHeartbeat(Kind kind) {
        RingBuffer ring = kind.make();
        for (long time : new long[] {1, -1, Long.MAX_VALUE, Long.MIN_VALUE}) {
            ring.consumerHeartbeatTime(time);
            assertEquals(time, ring.consumerHeartbeatTime());
        }
        assertEmpty(ring);
    }

    @ParameterizedTest
    @EnumSource
    void shouldHaveNothingToUnblock(Kind kind) {
        RingBuffer ring = kind.make();
        int index = claim(ring, Message.of(1));
        assertFalse(ring.unblock());
        assertEquals(List.of(), readAll(ring));
        ring.commit(index);
        assertFalse(ring.unblock());
        assertEquals(List.of(Message.of(1)), readAll(ring));
    }

    @ParameterizedTest
    @EnumSource
    void shouldWriteFromAnyKindOfBuffer(Kind kind) {
        RingBuffer ring = kind.make();
        ExpandableArrayBuffer source = new ExpandableArrayBuffer(16);
        source.putByte(20, (byte) 1);
        source.putByte(21, (byte) 2);
        assertTrue(ring.write(3, source, 20, 2));
        UnsafeBuffer direct = new UnsafeBuffer(ByteBuffer.allocateDirect(8));
        direct.putByte(7, (byte) 4);
        assertTrue(ring.write(4, direct, 7, 1));
        assertEquals(List.of(Message.of(3, (byte) 1, (byte) 2), Message.of(4, (byte) 4)), readAll(ring));
    }

    /** Random calls against a plain model of claims and messages. */
    @ParameterizedTest
    @EnumSource
    void shouldAnswerAsAPlainModelDoes(Kind kind) {
        for (long seed = 1; seed <= 200; seed++) {
            run(kind.make(), new Random(seed), kind + " seed " + seed);
        }
    }

    /** A record of the model: open while nobody has closed its claim, and without a message once aborted. */
    private static final class Rec {
        Message message;
        final int index;
        boolean open;

        Rec(Message message, int index, boolean open) {
            this.message = message;
            this.index = index;
            this.open = open;
        }
    }

    private static void run(RingBuffer ring, Random random, String where) {
        ArrayDeque<Rec> records = new ArrayDeque<>();
        for (int step = 0; step < 400; step++) {
            String at = where + " step " + step;
            switch (random.nextInt(6)) {
                case 0, 1 -> {
                    Message message = Message.random(random);
                    if (write(ring, message)) {
                        records.add(new Rec(message, 0, false));
                    } else {
                        assertTrue(ring.size() > CAPACITY / 4, at);
                    }
                }
                case 2 -> {
                    Message message = Message.random(random);
                    int index = claim(ring, message);
                    if (index != RingBuffer.INSUFFICIENT_CAPACITY) {
                        records.add(new Rec(message, index, true));
                    }
                }
                case 3, 4 -> {
                    List<Rec> open = records.stream().filter(r -> r.open).toList();
                    if (!open.isEmpty()) {
                        Rec chosen = open.get(random.nextInt(open.size()));
                        chosen.open = false;
                        if (random.nextInt(3) == 0) {
                            chosen.message = null;
                            ring.abort(chosen.index);
                        } else {
                            ring.commit(chosen.index);
                        }
                    }
                }
                default -> {
                    List<Message> expected = new ArrayList<>();
                    for (Iterator<Rec> front = records.iterator(); front.hasNext(); ) {
                        Rec next = front.next();
                        if (next.open) {
                            break;
                        }
                        if (next.message != null) {
                            expected.add(next.message);
                        }
                        front.remove();
                    }
                    List<Message> got = random.nextBoolean() ? readAll(ring) : readControlled(ring, random);
                    assertEquals(expected, got, at);
                }
            }
            assertEquals(ring.producerPosition() - ring.consumerPosition(), ring.size(), at);
        }
    }

    /** Reads all there is, with random limits and actions. */
    private static List<Message> readControlled(RingBuffer ring, Random random) {
        List<Message> got = new ArrayList<>();
        int empty = 0;
        while (empty < 2) {
            boolean[] aborted = {false};
            int before = got.size();
            int read = ring.controlledRead(
                    (type, buffer, index, length) -> {
                        Action action = ACTIONS.get(random.nextInt(ACTIONS.size()));
                        if (action == Action.ABORT) {
                            aborted[0] = true;
                        } else {
                            got.add(Message.read(type, buffer, index, length));
                        }
                        return action;
                    },
                    1 + random.nextInt(20));
            assertEquals(got.size() - before, read);
            empty = read == 0 && !aborted[0] ? empty + 1 : 0;
        }
        return got;
    }

    @ParameterizedTest
    @EnumSource
    void shouldPassEveryMessageOnceAndInOrderBetweenThreads(Kind kind) {
        RingBuffer ring = kind.make();
        int count = 200_000;
        Threads.run(
                spin -> {
                    UnsafeBuffer source = new UnsafeBuffer(new byte[LONGEST]);
                    for (int n = 0; n < count; ) {
                        int length = n % (LONGEST + 1);
                        boolean done;
                        if (n % 3 == 0) {
                            int index = ring.tryClaim(1 + n, length);
                            done = index > 0;
                            if (done) {
                                ring.buffer().setMemory(index, length, (byte) n);
                                if (n % 2 == 0) {
                                    ring.commit(index);
                                } else {
                                    ring.abort(index);
                                }
                            }
                        } else {
                            source.setMemory(0, length, (byte) n);
                            done = ring.write(1 + n, source, 0, length);
                        }
                        if (done) {
                            n++;
                        } else {
                            spin.once();
                        }
                    }
                },
                spin -> {
                    int[] next = {0};
                    MessageHandler handler = (type, buffer, index, length) -> {
                        if (next[0] % 6 == 3) {
                            next[0]++; // was aborted
                        }
                        int n = next[0]++;
                        assertEquals(1 + n, type);
                        assertEquals(n % (LONGEST + 1), length);
                        for (int i = 0; i < length; i++) {
                            if (buffer.getByte(index + i) != (byte) n) {
                                throw new AssertionError("message " + n + ", byte " + i);
                            }
                        }
                    };
                    boolean controlled = false;
                    while (next[0] < count) {
                        controlled = !controlled;
                        int read = controlled
                                ? ring.controlledRead(
                                        (type, buffer, index, length) -> {
                                            handler.onMessage(type, buffer, index, length);
                                            return length == 7 ? Action.COMMIT : Action.CONTINUE;
                                        },
                                        50)
                                : ring.read(handler);
                        if (read == 0) {
                            spin.once();
                        }
                    }
                });
        assertNotEquals(0, ring.consumerPosition());
        assertEmpty(ring);
    }
}
