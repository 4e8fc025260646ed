package io.cqring.simnic.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.cq.CompletionWriter;
import io.cqring.eq.Interrupt;
import io.cqring.simnic.fault.DeviceFaults;
import io.cqring.simnic.fault.Sabotage;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** {@code run --mode}: the same work in every mode, nothing lost, and counters that fit together. */
@Timeout(value = 300, unit = TimeUnit.SECONDS)
class ModesTest {
    private static final List<String> EVENT_COUNTERS =
            List.of("events", "interrupts", "arms", "missed_events", "spurious_wakeups");

    @TempDir
    private Path folder;

    private Ran run(DeviceFaults faults, boolean stepped, String options) throws IOException {
        return Ran.of(new RunCommand(faults, stepped), Ran.handWorkload(folder), "--ranks=4 " + options);
    }

    private static void assertClean(Ran ran) {
        assertEquals("", ran.err());
        assertEquals(Map.of(), ran.risen(), ran::out);
        assertEquals(Ran.HAND_COMPLETIONS, ran.count("completions"));
        assertEquals(0, ran.exitCode());
        assertEquals(0, ran.count("eq_overruns"));
        assertTrue(ran.count("events") <= ran.count("arms"), ran::out);
        assertTrue(ran.count("interrupts") <= ran.count("events"), ran::out);
        assertTrue(ran.count("missed_events") <= ran.count("arms"), ran::out);
        assertTrue(ran.json().get("host_cpu_percent").asDouble() >= 0, ran::out);
    }

    @Test
    void aPollingHostHasNoEvents() throws IOException {
        Ran ran = run(DeviceFaults.NONE, true, "--mode poll");
        assertClean(ran);
        assertEquals("poll", ran.json().get("mode").asText());
        for (String counter : EVENT_COUNTERS) {
            assertEquals(0, ran.count(counter), counter);
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "--mode event",
                "--mode hybrid",
                "--mode interrupt",
                "--mode event --moderation 64,16",
                "--mode event --moderation 7,3,entry",
                "--mode event --moderation 0,4095",
                "--mode event --moderation adaptive",
                "--mode hybrid --moderation 64,16",
                "--mode hybrid --moderation adaptive",
                "--mode event --eqs 2",
                "--mode hybrid --eqs 4 --moderation 8,8",
                "--mode interrupt --eqs 3",
                "--mode event --depth auto",
                "--mode event --depth auto --moderation 64,16",
                "--mode hybrid --depth auto --eqs 2",
                "--mode interrupt --depth auto",
                "--mode event --merge --moderation 16,16",
                "--mode interrupt --merge --cqe 32",
                "--mode event --window 1 --cqe 128",
                "--mode event --pace 1000000",
                "--mode interrupt --pace 1000000 --eqs 2",
                "--mode hybrid --pace 20000",
                "--mode hybrid --pace 20000 --eqs 4 --moderation 64,16",
                "--mode event --profile mlx5",
                "--mode event --profile mlx5 --merge --moderation 16,16",
                "--mode hybrid --profile mlx5 --cqe 128 --eqs 2",
                "--mode event --profile irdma",
                "--mode hybrid --profile irdma --cqe 32 --moderation 64,16",
                "--mode event --profile bnxt_re --moderation adaptive",
                "--mode hybrid --profile bnxt_re --eqs 2 --pace 20000"
            })
    void everyModeRunsCleanOnBothKindsOfDevice(String options) throws IOException {
        for (boolean stepped : new boolean[] {true, false}) {
            Ran ran = run(DeviceFaults.NONE, stepped, options);
            assertClean(ran);
            // A hybrid host that always finds something in time never arms.
            boolean mustSleep = !options.contains("hybrid") || options.contains("pace");
            assertTrue(!mustSleep || ran.count("events") > 0, ran::out);
        } // interrupts: none if the host, or the device that it steps, is never late; see the next test
    }

    /** Now and then the device holds a completion back until the host sleeps: that sleep is ended by an interrupt. */
    @ParameterizedTest
    @ValueSource(strings = {"--mode event", "--mode event --moderation 64,16", "--mode interrupt"})
    void aHostThatIsForcedToSleepHasInterrupts(String options) throws IOException {
        Thread host = Thread.currentThread();
        int[] sleeps = {0};
        DeviceFaults late = new DeviceFaults() {
            private int written;

            @Override
            public boolean writeCompletion(
                    CompletionWriter writer, long header, long id, long length, long detail, long timestamp) {
                if (written++ % 500 == 100) {
                    while (!(LockSupport.getBlocker(host) instanceof Interrupt)) {
                        Thread.onSpinWait();
                    }
                    sleeps[0]++;
                }
                return super.writeCompletion(writer, header, id, length, detail, timestamp);
            }
        };
        Ran ran = run(late, false, options);
        assertClean(ran);
        assertTrue(sleeps[0] >= Ran.HAND_COMPLETIONS / 500, () -> "sleeps: " + sleeps[0]);
        assertTrue(ran.count("interrupts") > 0, ran::out);
    }

    @ParameterizedTest
    @CsvSource({
        "DROP, lost, event",
        "DROP, lost, hybrid",
        "DROP, lost, interrupt",
        "DUPLICATE, duplicated, event",
        "SWAP, misordered, hybrid",
        "CORRUPT_PAYLOAD, payload_mismatches, interrupt"
    })
    void oneFaultRaisesItsCounterByOneAndNoOther(Sabotage.Kind kind, String counter, String mode) throws IOException {
        for (long strikeAt : new long[] {0, 7, 1000, 3210}) {
            Sabotage sabotage = new Sabotage(kind, strikeAt);
            Ran ran = run(sabotage, true, "--mode " + mode);
            assertTrue(sabotage.hasStruck());
            assertEquals(Map.of(counter, 1L), ran.risen(), () -> sabotage + ": " + ran.json());
            assertEquals(1, ran.exitCode());
        }
    }

    /** A device that answers an arm and raises no event: the host would sleep for ever. */
    @ParameterizedTest
    @ValueSource(strings = {"event", "hybrid --pace 20000", "interrupt"})
    void aLostWakeUpIsAFaultOfItsOwn(String mode) throws IOException {
        for (boolean stepped : new boolean[] {true, false}) {
            DeviceFaults forgetful = new DeviceFaults() {
                private boolean struck;

                @Override
                public boolean writeCompletion(
                        CompletionWriter writer, long header, long id, long length, long detail, long timestamp) {
                    final boolean written = super.writeCompletion(writer, header, id, length, detail, timestamp);
                    struck = struck || writer.answerArm();
                    return written;
                }
            };
            Ran ran = run(forgetful, stepped, "--mode " + mode);
            assertEquals(Map.of("lost_wakeups", 1L), ran.risen(), ran::out);
            assertEquals(Ran.HAND_COMPLETIONS, ran.count("completions"), "and no completion is lost");
            assertTrue(ran.err().startsWith("cqring: the run failed: a wake-up was lost"), ran.err());
            assertEquals(1, ran.exitCode());
        }
    }

    private static void assertRefused(String line, String options) {
        Ran.of(new RunCommand(), ("run " + options).split(" ")).assertRefused(line);
    }

    @Test
    void wrongOptionsAreOneLineThatNamesValueAndRule() {
        assertRefused("--mode must be poll, event, hybrid or interrupt: napi", "--mode napi");
        assertRefused("--mode must be poll, event, hybrid or interrupt: EVENT", "--mode EVENT");
        assertRefused("--mode event needs one poller, --pollers: 2", "--mode event --pollers 2");
        assertRefused("--moderation needs --mode event or hybrid, --mode: poll", "--moderation 64,16");
        assertRefused("--moderation needs --mode event or hybrid, --mode: poll", "--moderation adaptive");
        assertRefused(
                "--moderation needs --mode event or hybrid, --mode: interrupt", "--mode interrupt --moderation 64,16");
        assertRefused(
                "--moderation needs a period, or fewer completions than the count are never reported: 64,0",
                "--mode event --moderation 64,0");
        assertRefused(
                "--moderation must be off, adaptive, or fit: moderation count must be 0 to 65535 entries: 65536",
                "--mode event --moderation 65536,1");
        assertRefused(
                "--moderation must be off, adaptive, or fit: moderation must be COUNT,MICROS or COUNT,MICROS,entry, such as"
                        + " 64,16, with a count of 0 to 65535 and 0 to 4095 microseconds: fast",
                "--mode event --moderation fast");
        assertRefused("--eqs must be 1 to the number of ranks: 0", "--mode event --eqs 0");
        assertRefused("--eqs must be 1 to the number of ranks, 8: 9", "--mode event --eqs 9");
        assertRefused("--eqs needs --mode event, hybrid or interrupt, --eqs: 2", "--eqs 2");
        assertRefused("--pace must be 1 completion per second or more: 0", "--pace 0");
        assertRefused("--pace must be 1 completion per second or more: -5", "--pace -5");
    }

    /** By hand, at 1000 a second: a millisecond each, two go together; what was not used in 10 ms is made up for. */
    @Test
    void thePaceIsKept() {
        for (long origin : new long[] {0, -5, Long.MAX_VALUE - 3_000_000}) { // a clock may wrap
            Pace pace = new Pace(1000);
            assertEquals(0, pace.leftNs(origin));
            pace.spend(2, origin);
            assertEquals(2_000_000, pace.leftNs(origin));
            assertEquals(1, pace.leftNs(origin + 1_999_999));
            assertEquals(0, pace.leftNs(origin + 2_000_000));
            pace.spend(2, origin + 5_000_000); // 3 ms late
            assertEquals(0, pace.leftNs(origin + 5_000_000));
            pace.spend(2, origin + 5_000_000); // until 6 ms
            assertEquals(1_000_000, pace.leftNs(origin + 5_000_000));
            long later = origin + 1_000_000_000;
            int gone = 0;
            while (pace.leftNs(later) == 0) {
                pace.spend(2, later);
                gone++;
            }
            assertEquals(6, gone, "10 ms of a long pause, and one");
        }
    }

    /** 7,800 completions at 40,000 a second take 195 ms, less the 10 ms that may be made up for; they never take less. */
    @ParameterizedTest
    @ValueSource(strings = {"--mode poll", "--mode event", "--mode hybrid --moderation 64,16"})
    void aRunIsNoFasterThanItsPace(String mode) throws IOException {
        Ran ran = run(DeviceFaults.NONE, false, mode + " --pace 40000");
        assertClean(ran);
        double least = (Ran.HAND_COMPLETIONS - 2) / 40_000.0 - 0.010;
        assertTrue(ran.json().get("seconds").asDouble() >= least, ran::out);
    }
}
