package io.cqring.stress;

import io.cqring.memory.AccessRoute;
import java.io.IOException;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.net.URISyntaxException;
import java.nio.charset.Charset;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.openjdk.jcstress.JCStress;
import org.openjdk.jcstress.Options;
import org.openjdk.jcstress.TestExecutor;
import org.openjdk.jcstress.infra.TestInfo;
import org.openjdk.jcstress.infra.collectors.InProcessCollector;
import org.openjdk.jcstress.infra.collectors.MuxCollector;
import org.openjdk.jcstress.infra.collectors.SerializedBufferCollector;
import org.openjdk.jcstress.infra.collectors.TestResult;
import org.openjdk.jcstress.infra.grading.ConsoleReportPrinter;
import org.openjdk.jcstress.infra.grading.HTMLReportPrinter;
import org.openjdk.jcstress.infra.runners.TestConfig;
import org.openjdk.jcstress.infra.runners.TestList;
import org.openjdk.jcstress.os.OSSupport;
import org.openjdk.jcstress.os.Scheduler;
import org.openjdk.jcstress.os.SchedulingClass;
import org.openjdk.jcstress.os.topology.Topology;
import org.openjdk.jcstress.util.Environment;
import org.openjdk.jcstress.vm.CompileMode;
import org.openjdk.jcstress.vm.VMSupport;

/**
 * Entry point of {@code jcstress.jar}: runs the stress tests in JVMs of their own and judges the results itself.
 *
 * <p>Exit 0 only if every test ran, no forbidden outcome was seen, and every twin was convicted; else 1, and a line each that
 * begins with {@code FAILED:}. jcstress's own {@code main} exits 0 when nothing ran, so it is not used; the plan of forks is
 * ours as well, which keeps a whole run within minutes.
 *
 * <p>Every proof runs on the fast route, compiled by C2 plainly and with its scheduling randomised; proofs about slots run on
 * the buffer route once more. Twins run once.
 */
public final class StressRunner {
    /** How one fork is run. */
    private record Variant(String label, List<String> jvmArgs) {
        static Variant of(String label, AccessRoute route, String... jvmArgs) {
            List<String> all = new ArrayList<>(List.of(jvmArgs));
            all.add("--enable-native-access=ALL-UNNAMED"); // jcstress pins threads with a native library
            all.add("-D" + AccessRoute.PROPERTY + "=" + route.name().toLowerCase(Locale.ROOT));
            if (route == AccessRoute.UNSAFE) {
                all.add("--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED");
            }
            return new Variant(label, List.copyOf(all));
        }
    }

    private static final String C2_ONLY = "-XX:-TieredCompilation";
    private static final Variant FAST = Variant.of("fast route", AccessRoute.UNSAFE);
    private static final Variant FAST_SHUFFLED = Variant.of(
            "fast route, C2 shuffled",
            AccessRoute.UNSAFE,
            C2_ONLY,
            "-XX:+StressLCM",
            "-XX:+StressGCM",
            "-XX:+StressIGVN",
            "-XX:+StressCCP");
    private static final Variant BUFFER = Variant.of("buffer route", AccessRoute.BUFFER);

    private static final String ROUTE_OPTION = "--route=";
    private static final Pattern ON_BOTH_ROUTES = Pattern.compile(".*\\.(CqOwn|CqCredit)Stress\\..*");

    private StressRunner() {}

    /**
     * Runs, judges, exits.
     *
     * @param args {@code --route=fast}, {@code --route=buffer} or {@code --route=both} (all tests on the routes named), and
     *             jcstress's own options; none stands for a quick run
     * @throws Exception as jcstress does
     */
    public static void main(String[] args) throws Exception {
        String route = "";
        List<String> rest = new ArrayList<>();
        for (String arg : args) {
            if (arg.startsWith(ROUTE_OPTION)) {
                route = arg.substring(ROUTE_OPTION.length());
            } else {
                rest.add(arg);
            }
        }
        if (!Set.of("", "fast", "buffer", "both").contains(route)) {
            System.err.println(ROUTE_OPTION + " must be fast, buffer or both: " + route);
            System.exit(2);
        }
        Options options = new Options(withDefaults(rest).toArray(String[]::new));
        if (!options.parse()) {
            System.exit(2);
        }
        System.exit(run(options, route, System.out) ? 0 : 1);
    }

    /** Adds what a quick run needs and the caller did not choose. */
    static List<String> withDefaults(List<String> args) throws IOException {
        Map<String, String> defaults = new LinkedHashMap<>();
        defaults.put("-time", "250");
        defaults.put("-iters", "4");
        defaults.put("-strideCount", "8");
        defaults.put("-r", resultsFolder().toString());
        List<String> all = new ArrayList<>(args);
        defaults.forEach((option, value) -> {
            boolean chosen = args.contains(option) || (!option.equals("-r") && args.contains("-m"));
            if (!chosen) {
                all.add(option);
                all.add(value);
            }
        });
        return all;
    }

    /** Beside the jar if that is a build folder, else a temporary folder. */
    private static Path resultsFolder() throws IOException {
        try {
            Path jar = Path.of(StressRunner.class
                    .getProtectionDomain()
                    .getCodeSource()
                    .getLocation()
                    .toURI());
            if (Files.isRegularFile(jar) && jar.getParent().endsWith("target")) {
                return jar.resolveSibling("jcstress-results");
            }
        } catch (URISyntaxException noFile) {
            // as below
        }
        return Files.createTempDirectory("jcstress-results");
    }

    private static boolean run(Options options, String route, PrintStream out) throws Exception {
        long start = System.nanoTime();
        OSSupport.init();
        VMSupport.initFlags(options);
        Set<String> selected = new JCStress(options).getTests();
        Scheduler scheduler = new Scheduler(Topology.get(), options.getCPUCount());
        List<TestConfig> configs = new ArrayList<>();
        for (String name : selected) {
            TestInfo test = TestList.getInfo(name);
            for (Variant variant : variants(name, route)) {
                List<String> jvmArgs = new ArrayList<>(variant.jvmArgs);
                jvmArgs.addAll(options.getJvmArgsPrepend());
                jvmArgs.addAll(options.getJvmArgs());
                for (SchedulingClass place :
                        scheduler.scheduleClasses(test.threads(), options.getCPUCount(), options.affinityMode())) {
                    for (int fork = 0; fork < options.getForks(); fork++) {
                        configs.add(new TestConfig(options, test, fork, jvmArgs, CompileMode.UNIFIED, place));
                    }
                }
            }
        }
        Collections.shuffle(configs); // a machine that is busy for a minute must not hit all forks of one test
        options.printSettingsOn(out);

        InProcessCollector results = new InProcessCollector();
        if (!configs.isEmpty()) {
            ConsoleReportPrinter progress = new ConsoleReportPrinter(
                    options, new PrintWriter(out, true, Charset.defaultCharset()), configs.size());
            SerializedBufferCollector sink = new SerializedBufferCollector(MuxCollector.of(progress, results));
            TestExecutor executor = new TestExecutor(options.verbosity(), sink, scheduler);
            progress.setExecutor(executor);
            executor.runAll(configs);
            sink.close();
            results.getTestResults().forEach(result -> result.setEnv(Environment.getInstance()));
            new HTMLReportPrinter(options, results, out).work();
        }

        Map<String, Integer> planned = new HashMap<>();
        configs.forEach(config -> planned.merge(config.name, 1, Integer::sum));
        Judgement judgement = new Judgement(
                allTests(),
                selected,
                planned,
                results.getTestResults().stream().map(StressRunner::fork).toList(),
                options.getCPUCount());
        out.println();
        judgement.report().forEach(out::println);
        out.println(conditions(options, route, configs.size(), (System.nanoTime() - start) / 1_000_000_000));
        out.println(judgement.passed() ? "Stress passed." : "Stress FAILED.");
        return judgement.passed();
    }

    private static List<Variant> variants(String test, String route) {
        boolean twin = Judgement.isTwin(test);
        List<Variant> fast = twin ? List.of(FAST) : List.of(FAST, FAST_SHUFFLED);
        List<Variant> variants = new ArrayList<>(route.equals("buffer") ? List.of() : fast);
        boolean bufferByDefault = !twin && ON_BOTH_ROUTES.matcher(test).matches();
        if (route.equals("buffer") || route.equals("both") || (route.isEmpty() && bufferByDefault)) {
            variants.add(BUFFER);
        }
        return variants;
    }

    private static List<TestInfo> allTests() {
        return new TreeSet<>(TestList.tests()).stream().map(TestList::getInfo).toList();
    }

    private static Judgement.Fork fork(TestResult result) {
        Map<String, Long> states = new TreeMap<>();
        result.getStateKeys().forEach(state -> states.put(state, result.getCount(state)));
        List<String> messages = new ArrayList<>(result.getMessages());
        messages.addAll(result.getVmErr());
        messages.addAll(result.getVmOut());
        List<String> jvmArgs = result.getConfig().jvmArgs;
        String how = Stream.of(FAST, FAST_SHUFFLED, BUFFER)
                .filter(variant -> jvmArgs.subList(0, Math.min(jvmArgs.size(), variant.jvmArgs.size()))
                        .equals(variant.jvmArgs))
                .map(variant -> variant.label)
                .findFirst()
                .orElseGet(jvmArgs::toString);
        return new Judgement.Fork(result.getName(), how, result.status(), states, messages);
    }

    private static String conditions(Options options, String route, int forks, long seconds) {
        return String.format(
                Locale.ROOT,
                "%s, %d processors, %s %s; JDK %s (%s); %d forks x %d x %d ms, stride %d x %d, routes: %s; %d s",
                processor(),
                options.getCPUCount(),
                System.getProperty("os.name"),
                System.getProperty("os.arch"),
                Runtime.version(),
                System.getProperty("java.vm.name"),
                forks,
                options.getIterations(),
                options.getTime(),
                options.getStrideCount(),
                options.getStrideSize(),
                route.isEmpty() ? "fast, and buffer for CQ-OWN and CQ-CREDIT" : route,
                seconds);
    }

    private static String processor() {
        Path info = Path.of("/proc/cpuinfo");
        try {
            return Files.readAllLines(info).stream()
                    .filter(line -> line.startsWith("model name"))
                    .map(line -> line.substring(line.indexOf(':') + 1).strip())
                    .findFirst()
                    .orElse("unknown processor");
        } catch (IOException noInfo) {
            return "unknown processor";
        }
    }
}
