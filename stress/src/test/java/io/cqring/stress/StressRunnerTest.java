package io.cqring.stress;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Test;

class StressRunnerTest {
    @Test
    void shouldAddDefaultsOnlyForWhatTheCallerDidNotChoose() throws IOException {
        List<String> options = StressRunner.withDefaults(List.of("-time", "1000", "-r", "somewhere"));
        assertEquals("1000", options.get(options.indexOf("-time") + 1));
        assertEquals(options.indexOf("-time"), options.lastIndexOf("-time"));
        assertEquals(options.indexOf("-r"), options.lastIndexOf("-r"));
        assertTrue(options.contains("-iters"));
    }

    @Test
    void shouldLeaveTimesToThePresetWhenOneIsChosen() throws IOException {
        List<String> options = StressRunner.withDefaults(List.of("-m", "tough", "-r", "somewhere"));
        assertEquals(List.of("-m", "tough", "-r", "somewhere"), options);
    }
}
