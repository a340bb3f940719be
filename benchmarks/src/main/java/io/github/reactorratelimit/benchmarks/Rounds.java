package io.github.reactorratelimit.benchmarks;

import io.github.reactorratelimit.RateLimiter;
import java.io.File;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.BenchmarkResult;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.ChainedOptionsBuilder;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/**
 * Runs a group round by round. Each round runs every contender, first with the baseline's jar, then with this
 * build's, so that a machine that slows down for a while slows all of them down.
 */
final class Rounds {

    /**
     * How much a run does. A benchmark with its own {@code @Measurement} follows only the number of rounds.
     */
    enum Form {
        /** One very short iteration, for tests. */
        SMOKE(1, 0, 1, 10),
        /** Each contender once, briefly: shows that it runs; its numbers mean nothing. */
        TRY(1, 1, 1, 200),
        /** Minutes. */
        QUICK(3, 3, 2, 300),
        /** An hour or more. */
        FULL(7, 5, 5, 1_000);

        final int rounds;
        final int warmups;
        final int iterations;
        final long iterationMillis;

        Form(int rounds, int warmups, int iterations, long iterationMillis) {
            this.rounds = rounds;
            this.warmups = warmups;
            this.iterations = iterations;
            this.iterationMillis = iterationMillis;
        }
    }

    private static final String CLASS_PATH = "java.class.path";

    private final Form form;
    private final @Nullable Path baseline;
    private final boolean forked;

    /**
     * @param baseline another jar of the core; null to measure only this build's
     * @param forked whether each contender has a separate JVM; tests run all of them in theirs
     */
    Rounds(Form form, @Nullable Path baseline, boolean forked) {
        this.form = form;
        this.baseline = baseline;
        this.forked = forked;
    }

    /** One result for each contender and jar, with the rounds as its forks. */
    List<RunResult> run(Group group) throws RunnerException {
        Map<String, List<RunResult>> found = new LinkedHashMap<>();
        for (int round = 1; round <= form.rounds; round++) {
            if (baseline != null && group.comparesJars() && !group.names(true).isEmpty()) {
                keep(found, withClassPath(baselinePath(baseline), options(group, ComparedBenchmark.BASELINE)));
            }
            keep(found, new Runner(options(group, ComparedBenchmark.CURRENT).build()).run());
        }
        return found.values().stream().map(Rounds::merged).toList();
    }

    private static void keep(Map<String, List<RunResult>> found, Collection<RunResult> results) {
        for (RunResult result : results) {
            BenchmarkParams params = result.getParams();
            String row = params.getParam("jar") + ' ' + params.getParam("contender");
            found.computeIfAbsent(row, unknown -> new ArrayList<>()).add(result);
        }
    }

    private static RunResult merged(List<RunResult> rounds) {
        List<BenchmarkResult> forks = rounds.stream()
                .flatMap(round -> round.getBenchmarkResults().stream())
                .toList();
        return new RunResult(rounds.get(0).getParams(), forks);
    }

    private ChainedOptionsBuilder options(Group group, String jar) {
        boolean withBaseline = jar.equals(ComparedBenchmark.BASELINE);
        ChainedOptionsBuilder options = new OptionsBuilder()
                .include("^" + Pattern.quote(group.benchmark().getName() + "." + group.method()) + "$")
                .param("contender", group.names(withBaseline).toArray(String[]::new))
                .param("jar", jar)
                .threads(group.threads())
                .forks(forked ? 1 : 0)
                .addProfiler(GCProfiler.class)
                .shouldFailOnError(true)
                .verbosity(forked ? VerboseMode.NORMAL : VerboseMode.SILENT);
        group.parameters().forEach(options::param);
        if (!group.hasOwnIterations()) {
            options.warmupIterations(form.warmups)
                    .warmupTime(TimeValue.milliseconds(form.iterationMillis))
                    .measurementIterations(form.iterations)
                    .measurementTime(TimeValue.milliseconds(form.iterationMillis));
        } else if (form.rounds == 1) {
            options.warmupIterations(0).measurementIterations(1);
        }
        return options;
    }

    /** JMH starts its forks with the class path that this property holds. */
    private static Collection<RunResult> withClassPath(String path, ChainedOptionsBuilder options)
            throws RunnerException {
        String own = System.setProperty(CLASS_PATH, path);
        try {
            return new Runner(options.build()).run();
        } finally {
            System.setProperty(CLASS_PATH, own);
        }
    }

    /**
     * This class path with the baseline instead of this build's core: no class of the one is mixed with the
     * other.
     */
    private static String baselinePath(Path baseline) {
        Path core = core();
        String[] entries = System.getProperty(CLASS_PATH).split(File.pathSeparator, -1);
        if (Arrays.stream(entries).noneMatch(entry -> Path.of(entry).equals(core))) {
            throw new IllegalStateException(core + " is not on the class path");
        }
        return Arrays.stream(entries)
                .map(entry -> Path.of(entry).equals(core) ? baseline.toString() : entry)
                .collect(Collectors.joining(File.pathSeparator));
    }

    private static Path core() {
        try {
            return Path.of(RateLimiter.class
                    .getProtectionDomain()
                    .getCodeSource()
                    .getLocation()
                    .toURI());
        } catch (URISyntaxException e) {
            throw new IllegalStateException(e);
        }
    }
}
