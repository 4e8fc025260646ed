package io.cqring.simnic.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.notify.Moderation;
import io.cqring.simnic.fault.DeviceFaults;
import io.cqring.simnic.profile.VendorProfile;
import io.cqring.simnic.workload.Collective;
import io.cqring.simnic.workload.CollectiveKind;
import io.cqring.simnic.workload.Workload;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A host with one queue that is awake for nothing does not give up what lies in queues that sleep. The device is stepped: every run is the same. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class SleepingQueueTest {
    private static final int RANKS = 4;
    private static final int CHUNK = 1000;

    /** More than a host sweeps before it asks the device whether it is idle, several times over. */
    private static final int VAIN_ARMS = 300;

    /** Arms as asked, but for so many arms of one queue in a row, after each of its events, says "look again" though there is nothing. */
    private static final class RestlessQueue implements EventSource {
        private final EventSource source;
        private final int restless;
        private int vainArmsLeft = VAIN_ARMS;
        private long vainArms;

        RestlessQueue(EventSource source, int restless) {
            this.source = source;
            this.restless = restless;
        }

        @Override
        public boolean arm(int queue) {
            final boolean missed = source.arm(queue);
            if (queue != restless || vainArmsLeft == 0) {
                return missed;
            }
            vainArmsLeft--;
            vainArms++;
            return true;
        }

        @Override
        public int next(long nanos) throws InterruptedException {
            final int raised = source.next(nanos);
            if (raised == restless) {
                vainArmsLeft = VAIN_ARMS;
            }
            return raised;
        }

        @Override
        public void giveUp(int queue) {
            source.giveUp(queue);
        }

        @Override
        public void report(RunReport report) {
            source.report(report);
        }

        @Override
        public void close() {
            source.close();
        }
    }

    /** Three broadcasts: rank 0 to the others, 3 messages of 20 chunks each time. The restless one is the sender, or one that receives. */
    @ParameterizedTest
    @CsvSource({"EVENT, , 0", "EVENT, , 2", "EVENT, MLX5, 0", "EVENT, MLX5, 1", "EVENT, IRDMA, 3", "EVENT, BNXT_RE, 0"})
    void whatSleepsWithItsEventStillToComeIsNotGivenUp(PollMode mode, VendorProfile profile, int restless) {
        final Workload workload = new Workload(
                "hand",
                List.of(
                        new Collective(CollectiveKind.BROADCAST, 20 * CHUNK, 1),
                        new Collective(CollectiveKind.BROADCAST, 20 * CHUNK, 2),
                        new Collective(CollectiveKind.BROADCAST, 20 * CHUNK, 3)));
        final RunOptions options = new RunOptions(
                RANKS,
                CHUNK,
                CHUNK,
                profile == null ? 64 : profile.usualBytes(),
                OptionalInt.of(64),
                4,
                1,
                false,
                1,
                new EventOptions(mode, Optional.of(Moderation.OFF), 1, 0),
                Optional.ofNullable(profile));
        final RunReport report = new RunReport("hand", options, workload.totals(RANKS, CHUNK));
        final RestlessQueue[] source = new RestlessQueue[1];
        try (WorkloadRun run = new WorkloadRun(workload, options, report, DeviceFaults.NONE, true, events -> {
            source[0] = new RestlessQueue(events, restless);
            return source[0];
        })) {
            run.execute(done -> {});
        }
        assertNull(report.firstFault);
        assertEquals(0, report.lost);
        assertEquals(3 * 3 * 20 * 2, report.completions);
        assertTrue(source[0].vainArms >= VAIN_ARMS, () -> "vain arms: " + source[0].vainArms);
        assertTrue(report.isClean());
    }
}
