package io.cqring;

import static com.tngtech.archunit.base.DescribedPredicate.describe;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchRule;
import io.cqring.cq.KnownBadForArchitectureTest;
import io.cqring.ring.KnownBadRing;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Which package may use which. An arrow that is not drawn in the design is a failure. */
class ArchitectureTest {
    private static final JavaClasses SHIPPED = new ClassFileImporter()
            .withImportOption(new ImportOption.DoNotIncludeTests())
            .importPackages("io.cqring");

    /** All that reaches memory without QueueMemory. */
    private static final DescribedPredicate<JavaClass> RAW_MEMORY = describe(
            "ByteBuffer, VarHandle, Unsafe or what wraps them",
            c -> c.getPackageName().startsWith("java.nio")
                    || c.getPackageName().startsWith("java.lang.foreign")
                    || c.getPackageName().startsWith("sun.misc")
                    || c.getPackageName().startsWith("jdk.internal")
                    || (c.getPackageName().startsWith("org.agrona") && !isIdleStrategy(c))
                    || c.getName().equals("java.lang.invoke.VarHandle"));

    private static boolean isIdleStrategy(JavaClass c) {
        return c.getPackageName().equals("org.agrona.concurrent")
                && c.getSimpleName().endsWith("IdleStrategy");
    }

    private static final ArchRule RAW_MEMORY_ONLY_IN_MEMORY = noClasses()
            .that()
            .resideOutsideOfPackages("io.cqring.memory", "io.cqring.agrona")
            .and(describe(
                    "no pipe and no socket",
                    c -> !Set.of("Doorbell", "WakeupListener", "WakeupSender", "UnixSocket")
                            .contains(c.getName().replace("io.cqring.notify.", ""))))
            .should()
            .dependOnClassesThat(RAW_MEMORY.and(describe(
                    "more than a channel of the system",
                    c -> !c.getName().equals("java.nio.channels.SelectableChannel")
                            && !c.getName().equals("java.nio.file.Path"))));

    private static ArchRule onlyUses(String user, String... used) {
        return classes()
                .that()
                .resideInAPackage(user)
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage(used);
    }

    private static final ArchRule RING = onlyUses("io.cqring.ring", "io.cqring.ring", "java.lang..", "java.util..");

    private static final ArchRule CQ = onlyUses(
            "io.cqring.cq", "io.cqring.cq", "io.cqring.memory", "io.cqring.ring", "java.lang..", "java.util..");

    private static final ArchRule QUEUE = onlyUses(
            "io.cqring.queue", "io.cqring.queue", "io.cqring.cq", "io.cqring.memory", "java.lang..", "java.util..");

    private static final ArchRule EQ = onlyUses(
            "io.cqring.eq", "io.cqring.eq", "io.cqring.memory", "io.cqring.ring", "java.lang..", "java.util..");

    /** Pipes for selectors and sockets for other processes; the rest only passes on their types. */
    private static final ArchRule NOTIFY = classes()
            .that()
            .resideInAPackage("io.cqring.notify")
            .should()
            .onlyDependOnClassesThat(describe(
                    "java.lang, java.util, IOException, pipes, Unix-domain sockets, Agrona's idle strategies, and the"
                            + " packages of queues, event queues and memory",
                    c -> c.getPackageName().startsWith("java.lang")
                            || c.getPackageName().startsWith("java.util")
                            || c.getPackageName().equals("java.io")
                            || c.getPackageName().equals("java.net")
                            || c.getPackageName().startsWith("java.nio.file")
                            || c.getPackageName().equals("java.nio.charset")
                            || c.getPackageName().equals("java.nio.channels")
                            || c.getName().equals("java.nio.ByteBuffer")
                            || isIdleStrategy(c)
                            || Set.of("io.cqring.notify", "io.cqring.cq", "io.cqring.eq", "io.cqring.memory")
                                    .contains(c.getPackageName())
                            || c.isPrimitive()
                            || c.isArray()));

    /** A face of Agrona's API, so Agrona's buffers are its business; what lies beneath them only as far as wrapping goes. */
    private static final ArchRule AGRONA = classes()
            .that()
            .resideInAPackage("io.cqring.agrona")
            .should()
            .onlyDependOnClassesThat(describe(
                    "java.lang, java.util, ByteBuffer, Agrona, and the packages of queue and memory",
                    c -> c.getPackageName().equals("java.lang")
                            || c.getPackageName().startsWith("java.util")
                            || c.getName().equals("java.nio.ByteBuffer")
                            || c.getPackageName().startsWith("org.agrona")
                            || Set.of("io.cqring.agrona", "io.cqring.cq", "io.cqring.memory")
                                    .contains(c.getPackageName())
                            || c.isPrimitive()
                            || c.isArray()));

    private static final ArchRule MEMORY = classes()
            .that()
            .resideInAPackage("io.cqring.memory")
            .should()
            .onlyDependOnClassesThat(describe(
                    "java, io.cqring.memory, Agrona's BufferUtil and UnsafeApi",
                    c -> c.getPackageName().startsWith("java.")
                            || c.getPackageName().equals("io.cqring.memory")
                            || c.getName().equals("org.agrona.BufferUtil")
                            || c.getName().equals("org.agrona.UnsafeApi")
                            || c.isPrimitive()
                            || c.isArray()));

    @Test
    void everyArrowIsDrawn() {
        RING.check(SHIPPED);
        CQ.check(SHIPPED);
        EQ.check(SHIPPED);
        QUEUE.check(SHIPPED);
        NOTIFY.check(SHIPPED);
        AGRONA.check(SHIPPED);
        MEMORY.check(SHIPPED);
    }

    @Test
    void onlyTheMemoryPackageTouchesRawMemory() {
        RAW_MEMORY_ONLY_IN_MEMORY.check(SHIPPED);
    }

    @Test
    void theRulesCoverEveryShippedPackage() {
        Set<String> packages =
                SHIPPED.stream().map(JavaClass::getPackageName).collect(Collectors.toCollection(TreeSet::new));
        // An empty package is a class of ours without one: module-info.
        packages.remove("");
        assertEquals(
                Set.of(
                        "io.cqring.agrona",
                        "io.cqring.cq",
                        "io.cqring.eq",
                        "io.cqring.memory",
                        "io.cqring.notify",
                        "io.cqring.queue",
                        "io.cqring.ring"),
                packages);
    }

    /** The checker checked, with classes that do what is not allowed. */
    @Test
    void theRulesSeeABadClass() {
        JavaClasses bad = new ClassFileImporter().importClasses(KnownBadForArchitectureTest.class, KnownBadRing.class);
        assertThrows(AssertionError.class, () -> RAW_MEMORY_ONLY_IN_MEMORY.check(bad));
        assertThrows(AssertionError.class, () -> CQ.check(bad));
        assertThrows(AssertionError.class, () -> RING.check(bad));
    }
}
