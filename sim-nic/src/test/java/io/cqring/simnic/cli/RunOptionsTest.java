package io.cqring.simnic.cli;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cqring.simnic.profile.VendorProfile;
import io.cqring.simnic.profile.VendorQueue;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class RunOptionsTest {
    private static String refusal(int ranks, long chunk, long copyLimit, int cqe, int depth, int window) {
        return assertThrows(
                        IllegalArgumentException.class,
                        () -> new RunOptions(
                                ranks,
                                chunk,
                                copyLimit,
                                cqe,
                                OptionalInt.of(depth),
                                window,
                                1,
                                false,
                                1,
                                EventOptions.POLLING,
                                Optional.empty()))
                .getMessage();
    }

    /** By hand: 2 x (ranks - 1) x window, rounded up to a power of two. */
    @ParameterizedTest
    @CsvSource({"2,64,128", "8,64,1024", "16,64,2048", "2,1,2", "3,1,4", "4,1,8", "2,3,8", "16,1,32", "64,65536,8388608"
    })
    void theSmallestDepthThatWorksIsAcceptedAndHalfOfItRefusedByName(int ranks, int window, int smallest) {
        assertEquals(smallest, RunOptions.smallestDepth(ranks, window));
        new RunOptions(
                ranks, 8, 8, 64, OptionalInt.of(smallest), window, 1, false, 1, EventOptions.POLLING, Optional.empty());
        long needed = 2L * (ranks - 1) * window;
        assertEquals(
                "--depth must be a power of two and hold 2 x (ranks - 1) x window = " + needed
                        + " entries, so at least " + smallest + ": " + smallest / 2,
                refusal(ranks, 8, 8, 64, smallest / 2, window));
    }

    private static String refusedWith(
            VendorProfile profile, int cqe, OptionalInt depth, boolean merge, int pollers, EventOptions events) {
        return assertThrows(
                        IllegalArgumentException.class,
                        () -> new RunOptions(2, 8, 8, cqe, depth, 64, 1, merge, pollers, events, Optional.of(profile)))
                .getMessage();
    }

    @Test
    void whatAProfileDoesNotHaveIsRefusedInOneLine() {
        final OptionalInt deep = OptionalInt.of(128);
        final EventOptions polling = EventOptions.POLLING;
        assertEquals(
                "--cqe must be a size that the vendor has with --profile bnxt_re: 64",
                refusedWith(VendorProfile.BNXT_RE, 64, deep, false, 1, polling));
        assertEquals(
                "--cqe must be a size that the vendor has with --profile mlx5: 32",
                refusedWith(VendorProfile.MLX5, 32, deep, false, 1, polling));
        assertEquals(
                "--cqe must be a size that the vendor has with --profile irdma: 128",
                refusedWith(VendorProfile.IRDMA, 128, deep, false, 1, polling));
        assertEquals(
                "--pollers must be 1 with --profile mlx5: 2",
                refusedWith(VendorProfile.MLX5, 64, deep, false, 2, polling));
        assertEquals(
                "--depth must be a number with --profile irdma: auto",
                refusedWith(VendorProfile.IRDMA, 64, OptionalInt.empty(), false, 1, polling));
        assertEquals(
                "--merge needs the reference profile or mlx5, --profile: bnxt_re",
                refusedWith(VendorProfile.BNXT_RE, 32, deep, true, 1, polling));
        assertEquals(
                "--mode must be poll, event or hybrid with --profile mlx5: interrupt",
                refusedWith(
                        VendorProfile.MLX5,
                        64,
                        deep,
                        false,
                        1,
                        new EventOptions(PollMode.INTERRUPT, EventOptions.moderation("off"), 1, 0)));
    }

    /** The vendors' own limits: mlx5 2^22 entries; irdma 2^20 slots, one never full, two for each entry of 32 bytes; bnxt_re 2^20. */
    @ParameterizedTest
    @CsvSource({
        "MLX5, 64, 4194304, 4194304",
        "MLX5, 128, 4194304, 4194304",
        "IRDMA, 64, 1048575, 524288",
        "IRDMA, 32, 524287, 262144",
        "BNXT_RE, 32, 1048576, 1048576"
    })
    void theDeepestQueueOfAProfileIsAcceptedAndTwiceOfItRefusedByName(
            VendorProfile profile, int cqe, int most, int deepest) {
        final EventOptions polling = EventOptions.POLLING;
        new RunOptions(2, 8, 8, cqe, OptionalInt.of(deepest), 64, 1, false, 1, polling, Optional.of(profile));
        assertEquals(
                "--depth must be at most " + most + " with --cqe " + cqe + " with --profile " + profile.label() + ": "
                        + 2 * deepest,
                refusedWith(profile, cqe, OptionalInt.of(2 * deepest), false, 1, polling));
        final VendorQueue made = profile.createQueue(deepest, cqe, 1);
        assertTrue(made.depth() >= deepest);
        assertThrows(IllegalArgumentException.class, () -> profile.createQueue(2 * deepest, cqe, 1));
        assertThrows(IllegalArgumentException.class, () -> profile.createQueue(most + 1, cqe, 1));
    }

    /** 32,768 entries of a work queue; so many chunks under way take a work queue of the next power of two. */
    @ParameterizedTest
    @EnumSource(VendorProfile.class)
    void aWindowThatAVendorsWorkQueueCannotHoldIsRefused(VendorProfile profile) {
        for (int window : new int[] {32_768, 32_769, 65_536}) {
            final OptionalInt depth = OptionalInt.of(1 << 17);
            final Executable make = () -> new RunOptions(
                    2,
                    8,
                    8,
                    profile.usualBytes(),
                    depth,
                    window,
                    1,
                    false,
                    1,
                    EventOptions.POLLING,
                    Optional.of(profile));
            if (window == 32_768) {
                assertDoesNotThrow(make);
            } else {
                assertEquals(
                        "--window must be at most 32768 with --profile " + profile.label() + ": " + window,
                        assertThrows(IllegalArgumentException.class, make).getMessage());
            }
        }
    }

    @Test
    void everyOptionIsRefusedByNameValueAndRule() {
        assertEquals("--ranks must be 2 to 64: 1", refusal(1, 8, 8, 64, 8192, 64));
        assertEquals("--ranks must be 2 to 64: 65", refusal(65, 8, 8, 64, 8192, 64));
        assertEquals("--chunk must be 1 to 2147483647 bytes: 0", refusal(2, 0, 8, 64, 8192, 64));
        assertEquals("--chunk must be 1 to 2147483647 bytes: 2147483648", refusal(2, 1L << 31, 8, 64, 8192, 64));
        assertEquals("--copy-limit must be 0 bytes or more: -1", refusal(2, 8, -1, 64, 8192, 64));
        assertEquals("--window must be 1 to 65536: 0", refusal(2, 8, 8, 64, 8192, 0));
        assertEquals("--cqe must be 32, 64 or 128 bytes: 48", refusal(2, 8, 8, 48, 8192, 64));
        assertEquals(
                "--depth must be a power of two and hold 2 x (ranks - 1) x window = 128 entries, so at least 128: 3",
                refusal(2, 8, 8, 64, 3, 64));
        assertEquals(
                "--depth must be a power of two and hold 2 x (ranks - 1) x window = 128 entries, so at least 128: 8191",
                refusal(2, 8, 8, 64, 8191, 64));
    }
}
