package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** A device that looks at the arm word by itself, and raises the events. */
class ArmDeviceTest extends ArmRig {
    @ParameterizedTest
    @MethodSource("io.cqring.cq.ArmRig#shapes")
    void shouldLeaveTheEventsToADeviceThatLoops(Shape shape) {
        CompletionQueue queue = shape.builder().deviceEvents(5).create();
        CompletionWriter writer = queue.writer();
        assertTrue(queue.hasEvents());
        assertEquals(5, queue.number());
        assertEquals(0, writer.pastArm());
        assertFalse(writer.answerArm());
        for (int round = 0; round != 2 * shape.capacity() + 1; round++) {
            for (int count = 1; count <= shape.capacity(); count++) {
                assertFalse(queue.arm(ArmMode.NEXT, count));
                for (int i = 1; i <= shape.capacity(); i++) {
                    write(queue);
                    assertEquals(i < count ? 0 : i, writer.pastArm(), "entries past the arm");
                    assertEquals(i < count ? 0 : i, writer.pastArm(), "a look changes nothing");
                    if (i < count) {
                        assertFalse(writer.answerArm());
                    }
                }
                long before = queue.events();
                assertTrue(writer.answerArm());
                assertFalse(writer.answerArm());
                assertEquals(0, writer.pastArm(), "answered");
                assertEquals(before + 1, queue.events());
                assertEquals(shape.capacity(), poll(queue, shape.capacity()));
                assertFalse(queue.arm(ArmMode.NEXT), "while the event is on its way");
                assertEquals(0, writer.pastArm());
                assertTrue(queue.takeEvent());
            }
        }
        assertFalse(queue.arm(ArmMode.SOLICITED));
        write(queue);
        assertEquals(0, writer.pastArm());
        poll(queue, 1);
        writer.write(solicited(), 0, 0, 0, 0);
        assertEquals(2, writer.pastArm(), "counted from the arm");
        assertTrue(writer.answerArm());
        queue.close();
        assertRefused(IllegalStateException.class, "closed", writer::pastArm);
        assertRefused(IllegalStateException.class, "closed", writer::answerArm);
    }

    @Test
    void shouldLetADeviceThatLoopsTellOfADeadQueue() {
        CompletionQueue queue = CompletionQueue.ofCapacity(2)
                .overrunPolicy(OverrunPolicy.ERROR)
                .deviceEvents(5)
                .create();
        assertFalse(queue.arm(ArmMode.SOLICITED));
        write(queue);
        write(queue);
        assertEquals(0, queue.writer().pastArm());
        assertFalse(write(queue));
        assertEquals(1, queue.writer().pastArm());
        assertTrue(queue.writer().answerArm());
        assertEquals(0, queue.writer().pastArm());
        assertFalse(queue.writer().answerArm());
    }

    @Test
    void shouldRefuseADeviceOnAnotherThread() throws InterruptedException {
        CompletionQueue queue = CompletionQueue.ofCapacity(2).deviceEvents(5).create();
        write(queue);
        List<Throwable> thrown = new ArrayList<>();
        for (Consumer<CompletionWriter> call :
                List.<Consumer<CompletionWriter>>of(CompletionWriter::pastArm, CompletionWriter::answerArm)) {
            Thread other = new Thread(() -> {
                try {
                    call.accept(queue.writer());
                } catch (IllegalStateException e) {
                    thrown.add(e);
                }
            });
            other.start();
            other.join();
        }
        assertEquals(2, thrown.size());
    }
}
