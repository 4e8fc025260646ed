package io.cqring.simnic.profile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.ArmMode;
import io.cqring.cq.CqeLayout;
import io.cqring.cq.CqeOpcode;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** A host arms, then resizes: the arm stays open, and is answered once, for the next completion, whichever ring that is in. */
class VendorOpenArmTest {
    private static final int QP = 5;

    private final Posted work = new Posted(0);
    private VendorQueue queue;
    private int sent;

    private void send(boolean solicited) {
        work.sends(100 + sent, 1);
        assertTrue(queue.writer().write(CqeLayout.header(CqeOpcode.RC_SEND, solicited, sent++, QP, 0), 0, 0, 0, 0));
    }

    private List<Long> poll() {
        final List<Long> tags = new ArrayList<>();
        queue.poll(completion -> tags.add(completion.workRequestId()), 100);
        return tags;
    }

    /** What the device does on a pass: whether it raises an event. The host takes it at once. */
    private boolean raises() {
        if (queue.writer().pastArm() == 0) {
            return false;
        }
        assertTrue(queue.writer().answerArm());
        queue.onEvent(queue.writer().eventToggle());
        return true;
    }

    private static VendorQueue create(String kind) {
        return switch (kind) {
            case "irdma 32" -> IrdmaQueue.create(8, 32, 1);
            case "irdma 64" -> IrdmaQueue.create(8, 64, 1);
            case "mlx5" -> Mlx5Queue.create(8, 64, 1, false);
            default -> BnxtQueue.create(8, 1);
        };
    }

    static Stream<Arguments> cases() {
        return Stream.of("mlx5", "irdma 32", "irdma 64", "bnxt_re")
                .flatMap(kind -> Stream.of(ArmMode.values())
                        .flatMap(mode -> Stream.of(false, true)
                                .flatMap(seen -> Stream.of(0, 1, 5, 8, 11)
                                        .flatMap(before -> Stream.of(4, 8, 32)
                                                .map(depth -> Arguments.of(kind, mode, seen, before, depth))))));
    }

    private void prepare(String kind, int before) {
        queue = create(kind);
        queue.register(QP, work);
        for (int i = 0; i < before; i++) {
            send(false);
            assertEquals(1, poll().size());
        }
    }

    /** Nothing comes between arm and resize. The device has looked at the arm before it moves, or has not. */
    @ParameterizedTest
    @MethodSource("cases")
    void anArmIsAnsweredInTheNewRing(String kind, ArmMode mode, boolean seen, int before, int depth) {
        prepare(kind, before);
        assertFalse(queue.arm(mode));
        if (seen) {
            assertEquals(0, queue.writer().pastArm());
        }
        assertTrue(queue.resize(depth, Runnable::run));
        if (!kind.equals("mlx5")) { // its marker is an entry, and the arm is compared with an index
            assertFalse(raises(), "there is nothing yet");
        }
        if (mode == ArmMode.SOLICITED) {
            send(false);
            assertFalse(raises(), "not solicited");
        }
        send(true);
        assertTrue(raises(), "lost");
        assertFalse(raises(), "twice");
        final int first = 100 + before;
        assertEquals(mode == ArmMode.SOLICITED ? List.of(first + 0L, first + 1L) : List.of(first + 0L), poll());
        send(true);
        assertFalse(raises(), "not armed any more");
        assertEquals(1, poll().size());
        assertFalse(queue.arm(mode));
        assertFalse(raises());
        send(true);
        assertTrue(raises(), "the next arm");
        assertEquals(1, poll().size());
    }

    /** What came between arm and resize lies in the old ring: the event comes for it, once, and both rings are polled. */
    @ParameterizedTest
    @MethodSource("cases")
    void anArmIsAnsweredForWhatStayedInTheOldRing(String kind, ArmMode mode, boolean seen, int before, int depth) {
        prepare(kind, before);
        assertFalse(queue.arm(mode));
        if (seen) {
            assertEquals(0, queue.writer().pastArm());
        }
        send(true);
        assertTrue(queue.resize(depth, Runnable::run));
        assertTrue(raises(), "lost");
        send(true);
        assertFalse(raises(), "twice");
        final int first = 100 + before;
        assertEquals(List.of(first + 0L, first + 1L), poll());
        assertFalse(queue.arm(mode));
        assertFalse(raises(), "nothing came since");
        send(true);
        assertTrue(raises(), "the next arm");
        assertEquals(List.of(first + 2L), poll());
    }
}
