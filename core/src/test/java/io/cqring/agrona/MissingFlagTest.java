package io.cqring.agrona;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Runs in a JVM that got {@code -ea} and nothing else: Agrona's buffers cannot work there, and ours says why. */
@Tag("noflags")
class MissingFlagTest {
    @Test
    void shouldNameTheOptionThatIsMissing() {
        for (int i = 0; i < 2; i++) { // the first failure and later ones differ inside the JVM
            assertEquals(
                    "Agrona's buffers need the JVM option --add-opens java.base/jdk.internal.misc=ALL-UNNAMED"
                            + " (on the module path: =org.agrona)",
                    assertThrows(IllegalStateException.class, () -> CompletionRingBuffer.ofMessages(4))
                            .getMessage());
        }
    }
}
