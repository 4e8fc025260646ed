package io.cqring.simnic.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.simnic.fault.DeviceFaults;
import io.cqring.simnic.profile.VendorProfile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** {@code simulate}: whole systems add up; and when they cannot, it is noticed, repeated and made small. */
@Timeout(value = 300, unit = TimeUnit.SECONDS)
class SimulateTest {
    private static final int STEPS = 2000;

    /** Seeds for each profile; more by hand. */
    private static final int SEEDS = Integer.getInteger("cqring.simulate.seeds", 250);

    private static Optional<VendorProfile> profile(String name) {
        return name.equals("reference") ? Optional.empty() : Optional.of(VendorProfile.of(name));
    }

    private static Simulation.Outcome run(long seed, int steps, String profile, List<String> faults) {
        return new Simulation(seed, steps, profile(profile), faults, line -> {}).run();
    }

    @ParameterizedTest
    @ValueSource(strings = {"reference", "mlx5", "irdma", "bnxt_re"})
    void everySeedAddsUp(String profile) {
        final long first = System.nanoTime();
        long polled = 0;
        long sleeps = 0;
        for (long seed = first; seed != first + SEEDS; seed++) {
            final Simulation.Outcome outcome = run(seed, STEPS, profile, List.of());
            assertNull(outcome.violation(), "simulate --seed " + seed + " --profile " + profile);
            polled += outcome.polled();
            sleeps += outcome.sleeps();
        }
        assertTrue(polled > 50L * SEEDS, "hardly anything happened: " + polled);
        assertTrue(sleeps > 5L * SEEDS, "hardly anybody slept: " + sleeps);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "reference|packet-loss:50 packet-duplicate:50 packet-delay:30",
                "reference|burst:50 clock-jump:50 c-state:5 duplicate-event:3 delayed-dma:30",
                "mlx5|packet-loss:50 delayed-dma:20 qp-cache-miss:20",
                "irdma|packet-delay:20 link-sleep:2 c-state:5",
                "bnxt_re|burst:50 c-state:5 duplicate-event:3 packet-loss:60"
            })
    void whatOnlyTakesTimeAddsUpToo(String profile, String faults) {
        final long first = System.nanoTime();
        for (long seed = first; seed != first + 40; seed++) {
            assertNull(
                    run(seed, STEPS, profile, List.of(faults.split(" ", -1))).violation(),
                    "simulate --seed " + seed + " --profile " + profile + " with " + faults);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "completer-abort:100,   out of order",
        "duplicate-entry:100,   out of order",
        "torn-entry:100,        out of order",
        "drop-event:5,          slept beside a completion",
        "drop-arm:5,            slept beside a completion",
        "pcie-read-timeout:50,  REQ_ERR LOC_LEN_ERR",
        "stuck-qp:50,           never completed"
    })
    void damageIsNoticed(String fault, String how) {
        for (long seed = 1; seed != 30; seed++) {
            final String violation =
                    run(seed, STEPS, "reference", List.of(fault)).violation();
            if (violation != null && violation.contains(how)) {
                return;
            }
        }
        throw new AssertionError("not noticed in 29 seeds: " + fault);
    }

    @ParameterizedTest
    @ValueSource(strings = {"reference", "mlx5", "irdma", "bnxt_re"})
    void theSameSeedIsTheSameRun(String profile) {
        final List<String> faults = List.of("packet-loss:50", "delayed-dma:50");
        final List<String> first = new ArrayList<>();
        final List<String> second = new ArrayList<>();
        final Simulation.Outcome one = new Simulation(42, STEPS, profile(profile), faults, first::add).run();
        final Simulation.Outcome two = new Simulation(42, STEPS, profile(profile), faults, second::add).run();
        assertEquals(first, second);
        assertEquals(one, two);
        assertTrue(first.size() > 100);
        assertNotEquals(one.digest(), run(43, STEPS, profile, faults).digest());
    }

    @Test
    void aFailureIsMadeSmall() {
        final Ran ran = Ran.of(
                new RunCommand(DeviceFaults.NONE, false),
                "simulate",
                "--seeds=30",
                "--fault=burst:50",
                "--faults=completer-abort:100",
                "--fault=packet-delay:50");
        assertEquals(1, ran.exitCode());
        assertTrue(ran.err().startsWith("cqring: seed "), ran.err());
        final String smallest = ran.out().strip();
        assertTrue(
                smallest.matches("smallest: simulate --seed \\d+ --steps \\d+ --fault completer-abort:100"), smallest);
        final String[] words = smallest.split(" ", -1);
        final long seed = Long.parseLong(words[3]);
        final int steps = Integer.parseInt(words[5]);
        assertNotNull(
                run(seed, steps, "reference", List.of("completer-abort:100")).violation());
        assertNull(run(seed, steps - 1, "reference", List.of("completer-abort:100"))
                .violation());
    }

    @Test
    void theLogIsWhatWasHashed(@TempDir Path folder) throws Exception {
        final Path log = folder.resolve("log");
        final Ran ran = Ran.of(new RunCommand(DeviceFaults.NONE, false), "simulate", "--seed=5", "--log=" + log);
        assertEquals(0, ran.exitCode());
        final byte[] hash = java.security.MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(log));
        assertTrue(ran.out().contains(java.util.HexFormat.of().formatHex(hash)), ran.out());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "--seeds=0|--seeds must be 1 or more: 0",
                "--steps=0|--steps must be 1 to 10000000: 0",
                "--seeds=2 --log=x|--log needs --seeds 1: 2",
                "--profile=x|profile must be mlx5, irdma or bnxt_re: x",
                "--profile=mlx5 --fault=torn-entry|--fault torn-entry needs the reference profile, --profile: mlx5"
            })
    void wrongOptionsAreOneLine(String options, String line) {
        Ran.of(new RunCommand(DeviceFaults.NONE, false), ("simulate " + options).split(" ", -1))
                .assertRefused(line);
    }
}
