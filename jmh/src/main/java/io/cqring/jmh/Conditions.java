package io.cqring.jmh;

import io.cqring.memory.QueueMemory;
import java.io.IOException;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Collectors;
import org.agrona.concurrent.UnsafeBuffer;

/** What a number must be read beside: the machine, the JVM, and how busy the machine was. */
final class Conditions {
    private static final Path CPU_INFO = Path.of("/proc/cpuinfo");

    private Conditions() {}

    /** Name and value of each condition, in the order in which people want to read them. */
    static Map<String, String> describe() {
        Map<String, String> conditions = new LinkedHashMap<>();
        conditions.put("cpu", cpuModel());
        conditions.put("cores", Runtime.getRuntime().availableProcessors() + ", threads not pinned");
        conditions.put("os", System.getProperty("os.name") + " " + System.getProperty("os.version"));
        conditions.put("jdk", System.getProperty("java.vm.name") + " " + System.getProperty("java.vm.version"));
        conditions.put(
                "gc",
                ManagementFactory.getGarbageCollectorMXBeans().stream()
                        .map(GarbageCollectorMXBean::getName)
                        .collect(Collectors.joining(", ")));
        conditions.put(
                "flags", String.join(" ", ManagementFactory.getRuntimeMXBean().getInputArguments()));
        conditions.put("route", QueueMemory.route().name());
        conditions.put("agrona bounds checks", UnsafeBuffer.SHOULD_BOUNDS_CHECK ? "on" : "off");
        conditions.put("version", String.valueOf(Conditions.class.getPackage().getImplementationVersion()));
        conditions.put("load average", loadAverage());
        return conditions;
    }

    /** Runnable threads of the whole machine, averaged over the last minute; what else ran spoils a comparison. */
    static String loadAverage() {
        return String.valueOf(ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage());
    }

    private static String cpuModel() {
        String unknown = System.getProperty("os.arch");
        if (!Files.isReadable(CPU_INFO)) {
            return unknown;
        }
        try {
            return Files.readAllLines(CPU_INFO).stream()
                    .filter(line -> line.startsWith("model name"))
                    .map(line -> line.substring(line.indexOf(':') + 1).trim())
                    .findFirst()
                    .orElse(unknown);
        } catch (IOException unreadable) {
            return unknown;
        }
    }
}
