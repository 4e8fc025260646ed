package io.cqring.simnic.cli;

import io.cqring.memory.QueueMemory;
import io.cqring.notify.Moderation;
import io.cqring.simnic.fault.DeviceFaults;
import io.cqring.simnic.moderation.QueueEvents;
import io.cqring.simnic.profile.Mlx5Queue;
import io.cqring.simnic.profile.Mlx5Writer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.function.UnaryOperator;
import org.agrona.concurrent.BackoffIdleStrategy;
import org.agrona.concurrent.IdleStrategy;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code cqring mlx5-device}: an mlx5 completion queue in a file, for a driver of another process to poll. */
@Command(
        name = "mlx5-device",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description = {
            "Is the device side of an mlx5 completion queue in a file that an mlx5 driver in another process maps: makes the file, waits for"
                    + " the driver, writes the script's completions, honours the consumer index record and the arm doorbell, and counts the"
                    + " events that it raises.",
            "",
            "  byte 0x20    UAR page: arm doorbell, 64 bits, big-endian; all ones at first",
            "  byte 4096    consumer index record and arm record, 32 bits each, big-endian",
            "  byte 4160    completion events raised, 64 bits, little-endian",
            "  byte 4224    device state: 1 ready, 2 the script is done",
            "  byte 4288    driver state: 1 attached, 2 done",
            "  byte 8192    the ring: depth x entry size",
            ""
        },
        footer = {"", "Exit code: 0 the driver was done in time, 1 it was not, or the queue overran; 2 wrong usage."})
final class Mlx5DeviceCommand implements Callable<Integer> {
    /** What the script's completions are for. */
    private static final int QUEUE_NUMBER = 0x42;

    private static final int QP_NUMBER = 0x99;
    private static final int USER_INDEX = 7;

    private static final int EVENTS = 4096 + 64;
    private static final int DEVICE_STATE = 4096 + 128;
    private static final int DRIVER_STATE = 4096 + 192;
    private static final int READY = 1;
    private static final int DONE = 2;

    private static final long NS_PER_S = 1_000_000_000;
    private static final long MOST_TIMEOUT_SECONDS = 1_000_000_000;

    @Option(names = "--file", paramLabel = "F", required = true, description = "The file to make; it must not exist.")
    private Path file;

    @Option(
            names = "--script",
            paramLabel = "S",
            required = true,
            description = "The completions: CSV lines op,bytes,imm,syndrome,vendor,se.")
    private Path script;

    @Option(
            names = "--depth",
            paramLabel = "N",
            defaultValue = "64",
            description = "Entries of the ring, a power of two. Default: ${DEFAULT-VALUE}.")
    private int depth;

    @Option(
            names = "--cqe-size",
            paramLabel = "BYTES",
            defaultValue = "64",
            description = "Bytes per entry, 64 or 128. Default: ${DEFAULT-VALUE}.")
    private int cqeBytes;

    @Option(
            names = "--loops",
            paramLabel = "N",
            defaultValue = "1",
            description = "How often the script is run through. Default: ${DEFAULT-VALUE}.")
    private long loops;

    @Option(
            names = "--start",
            paramLabel = "INDEX",
            defaultValue = "0",
            description = "Index of the first entry. Default: ${DEFAULT-VALUE}.")
    private long start;

    @Option(
            names = "--moderation",
            paramLabel = "COUNT,MICROS",
            defaultValue = "off",
            description = "When an event is raised for an armed queue. Default: ${DEFAULT-VALUE}.")
    private String moderation;

    @Option(
            names = "--timeout",
            paramLabel = "SECONDS",
            defaultValue = "60",
            description = "The most time without progress. Default: ${DEFAULT-VALUE}.")
    private long timeoutSeconds;

    @Spec
    private CommandSpec spec;

    private final UnaryOperator<QueueMemory> tamper;
    private final IdleStrategy idle = new BackoffIdleStrategy(1000, 1000, 1000, 50_000);
    private QueueMemory memory;
    private Mlx5Writer writer;
    private QueueEvents events;
    private long eventsRaised;
    private long lastProgressNs;

    /** The command as shipped. */
    Mlx5DeviceCommand() {
        this(UnaryOperator.identity());
    }

    /** For tests: a device that reaches the file through something that breaks it. */
    Mlx5DeviceCommand(UnaryOperator<QueueMemory> tamper) {
        this.tamper = tamper;
    }

    @Override
    public Integer call() {
        final List<Mlx5Script.Line> lines;
        final Moderation held;
        try {
            if (loops < 1) {
                throw new IllegalArgumentException("--loops must be 1 or more: " + loops);
            }
            if (start < 0) {
                throw new IllegalArgumentException("--start must be 0 or more: " + start);
            }
            if (timeoutSeconds < 1 || timeoutSeconds > MOST_TIMEOUT_SECONDS) {
                throw new IllegalArgumentException(
                        "--timeout must be 1 to " + MOST_TIMEOUT_SECONDS + " seconds: " + timeoutSeconds);
            }
            held = EventOptions.moderation(moderation)
                    .orElseThrow(
                            () -> new IllegalArgumentException("--moderation must be off or COUNT,MICROS: adaptive"));
            EventOptions.requireEnds(held);
            lines = Mlx5Script.read(script);
            memory = tamper.apply(QueueMemory.create(file, Mlx5Queue.requiredBytes(depth, cqeBytes)));
        } catch (IllegalArgumentException wrong) {
            throw new ParameterException(spec.commandLine(), wrong.getMessage(), wrong);
        } catch (IOException wrong) {
            throw new ParameterException(spec.commandLine(), describe(wrong), wrong);
        }
        try {
            writer = Mlx5Queue.create(memory, depth, cqeBytes, QUEUE_NUMBER, start)
                    .writer();
            events = new QueueEvents(writer, System::nanoTime, DeviceFaults.NONE, this::raise, held);
            return serve(lines) ? 0 : 1;
        } finally {
            deleteFile();
        }
    }

    private static String describe(IOException wrong) {
        return wrong.getClass().getSimpleName() + ": " + wrong.getMessage();
    }

    private void deleteFile() {
        try {
            Files.deleteIfExists(file); // whoever has it mapped keeps it
        } catch (IOException stays) {
            spec.commandLine().getErr().println("cqring: the file stays: " + describe(stays));
        }
    }

    /** Plays the script. False if there was no progress for too long, or the queue overran. */
    private boolean serve(List<Mlx5Script.Line> lines) {
        store(DEVICE_STATE, READY);
        spec.commandLine().getOut().println("ready: " + file);
        lastProgressNs = System.nanoTime();
        while (driverState() == 0) {
            if (!pause("the driver did not attach")) {
                return false;
            }
        }
        progress();
        int requests = 0;
        int receives = 0;
        for (long loop = 0; loop != loops; loop++) {
            for (Mlx5Script.Line line : lines) {
                while (!writer.hasRoom()) {
                    if (events.serve() == QueueEvents.BUSY) {
                        Thread.onSpinWait();
                    } else if (driverState() == DONE || !pause("the driver took nothing out of a full ring")) {
                        return false;
                    }
                }
                progress();
                write(line, line.isRequest() ? requests++ : receives++);
                events.serve();
            }
        }
        store(DEVICE_STATE, DONE);
        while (driverState() != DONE) {
            if (events.serve() == QueueEvents.BUSY) {
                Thread.onSpinWait();
            } else if (!pause("the driver did not end")) {
                return false;
            }
        }
        spec.commandLine()
                .getOut()
                .println("done: " + loops * lines.size() + " completions, " + eventsRaised + " events");
        return !writer.isDead();
    }

    private void write(Mlx5Script.Line line, int counter) {
        if (line.isFailure()) {
            writer.writeError(line.opcode(), QP_NUMBER, USER_INDEX, counter, line.syndrome(), line.vendor());
        } else {
            writer.writeEntry(
                    line.wireOpcode(),
                    QP_NUMBER,
                    USER_INDEX,
                    counter,
                    line.opcode(),
                    line.solicited(),
                    line.bytes(),
                    line.immediate(),
                    0,
                    System.nanoTime());
        }
    }

    private void progress() {
        idle.reset();
        lastProgressNs = 0;
    }

    private boolean pause(String failure) {
        final long now = System.nanoTime();
        if (lastProgressNs == 0) {
            lastProgressNs = now;
        } else if (now - lastProgressNs > timeoutSeconds * NS_PER_S) {
            spec.commandLine().getErr().println("cqring: " + failure + " within " + timeoutSeconds + " s");
            return false;
        }
        idle.idle();
        return true;
    }

    private void raise() {
        eventsRaised++;
        store(EVENTS, eventsRaised);
    }

    private void store(int offset, long value) {
        // Edge PEER, device end: ring and words before, then the news. Partner: the driver's process. Weaker: it looks
        // at a ring
        // that has not been primed, or misses the entry that an event is about. Shown by Mlx5PeerIT.
        memory.putLongRelease(offset, value);
    }

    private int driverState() {
        // Edge PEER, device end: the driver's state, then what it has written. Partner: the driver's process.
        return (int) memory.getLongAcquire(DRIVER_STATE);
    }
}
