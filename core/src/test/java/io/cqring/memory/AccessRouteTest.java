package io.cqring.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

class AccessRouteTest {
    @Test
    void shouldTakeTheFastRouteWhereItWorksUnlessToldOtherwise() {
        assertEquals(AccessRoute.UNSAFE, AccessRoute.choose("auto", true));
        assertEquals(AccessRoute.BUFFER, AccessRoute.choose("auto", false));
        assertEquals(AccessRoute.BUFFER, AccessRoute.choose("buffer", true));
        assertEquals(AccessRoute.BUFFER, AccessRoute.choose("buffer", false));
        assertEquals(AccessRoute.UNSAFE, AccessRoute.choose("unsafe", true));
    }

    @Test
    void shouldNotFallBackSilentlyWhenTheFastRouteIsInsistedOn() {
        assertEquals(
                "cqring.memory.route=unsafe needs a little-endian machine and the JVM option "
                        + "--add-opens java.base/jdk.internal.misc=ALL-UNNAMED (on the module path: =org.agrona)",
                assertThrows(IllegalStateException.class, () -> AccessRoute.choose("unsafe", false))
                        .getMessage());
    }

    @Test
    void shouldRefuseARouteThatDoesNotExist() {
        for (String wanted : new String[] {"", "Buffer", "UNSAFE", "fast", " auto"}) {
            for (boolean unsafeWorks : new boolean[] {true, false}) {
                assertEquals(
                        "cqring.memory.route must be auto, buffer or unsafe: " + wanted,
                        assertThrows(IllegalStateException.class, () -> AccessRoute.choose(wanted, unsafeWorks))
                                .getMessage());
            }
        }
    }

    /** The test JVM has the flag, so the route is the fast one, except in the run that insists on the other. */
    @Test
    @Tag("bothroutes")
    void shouldBeTheRouteThatThisRunIsAbout() {
        boolean buffer = "buffer".equals(System.getProperty("cqring.memory.route"));
        assertEquals(buffer ? AccessRoute.BUFFER : AccessRoute.UNSAFE, QueueMemory.route());
        assertEquals(
                "QueueMemory[100 bytes, " + (buffer ? "BUFFER" : "UNSAFE") + "]",
                QueueMemory.allocate(100).toString());
    }
}
