package io.cqring.cq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.memory.QueueMemory;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Walks the table "What goes with what" of architecture.md: each combination of shapes is made or refused, and each thing one can
 * do with a queue works or is refused, as the table says.
 */
class CombinationTest {
    @TempDir
    private Path folder;

    private record Kind(boolean manyWriters, boolean manyPollers, boolean merging, boolean inFile) {
        /** The table's rows "many of the other", "merging" and "file". */
        boolean exists() {
            boolean many = manyWriters || manyPollers;
            return !(merging && (many || inFile));
        }

        /** The table's rows "resize", "purge", "drain" and "reset". */
        boolean mayChange() {
            return !manyWriters && !manyPollers && !merging && !inFile;
        }

        CompletionQueue.Builder builder(Path folder) throws IOException {
            CompletionQueue.Builder builder = CompletionQueue.ofCapacity(8);
            if (manyWriters) {
                builder.writers(2);
            }
            if (manyPollers) {
                builder.sharedPollers();
            }
            if (merging) {
                builder.merging();
            }
            if (inFile) {
                builder.memory(QueueMemory.create(folder.resolve("queue"), CompletionQueue.requiredBytes(8, 64, 2)));
            }
            return builder;
        }
    }

    static Stream<Kind> kinds() {
        List<Kind> kinds = new ArrayList<>();
        for (int bits = 0; bits < 16; bits++) {
            kinds.add(new Kind((bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0));
        }
        return kinds.stream();
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void shouldMakeWhatTheTableAllows(Kind kind) throws IOException {
        CompletionQueue.Builder builder = kind.builder(folder);
        if (!kind.exists()) {
            String why = assertThrows(IllegalArgumentException.class, builder::create)
                    .getMessage();
            assertTrue(why.contains("writer") || why.contains("poller"), why);
            return;
        }
        CompletionQueue queue = builder.create();
        write(kind, queue, 3);
        assertEquals(List.of(0L, 1L, 2L), drain(kind, queue));
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void shouldDoWithEachWhatTheTableSays(Kind kind) throws IOException {
        if (!kind.exists()) {
            return;
        }
        CompletionQueue queue = kind.builder(folder).create();
        write(kind, queue, 2);
        List<Runnable> changes = List.of(
                () -> queue.resize(16),
                queue::cancelResize,
                () -> assertEquals(0, queue.purge(2)),
                () -> assertEquals(2, queue.reset()),
                () -> queue.drainAndClose(completion -> {}, 0, TimeUnit.SECONDS));
        for (int i = 0; i < changes.size(); i++) {
            if (kind.mayChange()) {
                changes.get(i).run();
            } else if (i != 1) { // there is never a resize to cancel
                assertThrows(IllegalStateException.class, changes.get(i)::run, kind + " change " + i);
            }
        }
        if (!kind.mayChange()) {
            assertEquals(List.of(0L, 1L), drain(kind, queue), "refused: nothing has changed");
        }
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void shouldHaveACursorButNoPeekWithManyPollers(Kind kind) throws IOException {
        if (!kind.exists()) {
            return;
        }
        CompletionQueue queue = kind.builder(folder).create();
        write(kind, queue, 2);
        if (kind.manyPollers()) {
            assertThrows(IllegalStateException.class, queue::peek);
            assertThrows(IllegalStateException.class, queue::startPoll);
            CompletionPoller poller = queue.newPoller();
            assertTrue(poller.startPoll());
            assertTrue(poller.next());
            assertFalse(poller.next());
            assertEquals(2, poller.endPoll());
        } else {
            assertThrows(IllegalStateException.class, queue::newPoller);
            assertEquals(0, queue.peek().workRequestId());
            assertTrue(queue.startPoll());
            assertTrue(queue.next());
            assertFalse(queue.next());
            assertEquals(2, queue.endPoll());
        }
        if (kind.manyWriters()) {
            assertThrows(IllegalStateException.class, queue::writer);
        } else {
            assertThrows(IllegalStateException.class, queue::newWriter);
        }
    }

    /** The table's row "awaitSpace". */
    @ParameterizedTest
    @MethodSource("kinds")
    void shouldLetWritersWaitForSpace(Kind kind) throws Exception {
        if (!kind.exists()) {
            return;
        }
        CompletionQueue.Builder builder = kind.builder(folder).waitingWriters();
        if (kind.inFile()) {
            assertThrows(IllegalArgumentException.class, builder::create);
            return;
        }
        CompletionQueue queue = builder.create();
        write(kind, queue, 8);
        SharedWriter shared = kind.manyWriters() ? queue.newWriter() : null;
        assertFalse(awaitSpace(queue, shared));
        assertEquals(8, drain(kind, queue).size());
        assertTrue(awaitSpace(queue, shared));
        write(kind, queue, 8);
    }

    private static boolean awaitSpace(CompletionQueue queue, SharedWriter shared) throws InterruptedException {
        return shared == null
                ? queue.writer().awaitSpace(0, TimeUnit.SECONDS)
                : shared.awaitSpace(1, 0, TimeUnit.SECONDS);
    }

    /** The mask of a resized ring: sequences, size and credit go on as if nothing had happened. */
    @Test
    void shouldCarryMoreAfterAResize() {
        CompletionQueue queue = CompletionQueue.ofCapacity(2).create();
        Kind kind = new Kind(false, false, false, false);
        write(kind, queue, 1);
        queue.resize(8);
        for (long id = 1; id < 8; id++) {
            assertTrue(
                    queue.writer().write(CqeLayout.header(CqeOpcode.RECV, false, 0, 1, 0), id, 0, 0, 0), "entry " + id);
        }
        assertEquals(List.of(0L, 1L, 2L, 3L, 4L, 5L, 6L, 7L), drain(kind, queue));
        assertEquals(8, queue.capacity());
        assertEquals(ResizeStatus.DONE, queue.resizeStatus());
    }

    private static void write(Kind kind, CompletionQueue queue, int count) {
        SharedWriter shared = kind.manyWriters() ? queue.newWriter() : null;
        for (int i = 0; i < count; i++) {
            long header = CqeLayout.header(CqeOpcode.RECV, false, i, 1, 0);
            assertTrue(
                    shared != null
                            ? shared.write(header, i, 0, 0, 0)
                            : queue.writer().write(header, i, 0, 0, 0));
        }
        if (shared != null) {
            shared.close();
        }
    }

    private static List<Long> drain(Kind kind, CompletionQueue queue) {
        List<Long> ids = new ArrayList<>();
        CompletionHandler handler = completion -> ids.add(completion.workRequestId());
        CompletionPoller poller = kind.manyPollers() ? queue.newPoller() : null;
        int taken;
        do {
            taken = poller != null ? poller.poll(handler, 100) : queue.poll(handler, 100);
        } while (taken != 0);
        return ids;
    }
}
