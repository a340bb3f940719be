package io.github.reactorratelimit.benchmarks.local;

import io.github.reactorratelimit.benchmarks.BenchmarkGroup;
import io.github.reactorratelimit.benchmarks.Form;
import io.github.reactorratelimit.benchmarks.report.Contender;
import io.github.reactorratelimit.benchmarks.report.Group;
import io.github.reactorratelimit.benchmarks.report.Sample;
import java.util.Map;
import java.util.regex.Pattern;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.ChainedOptionsBuilder;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/**
 * A group measured with JMH. Each round of each contender has a JVM of its own, so that what the compiler learnt from one
 * does not help or hurt the next. The benchmark class takes the contender's series as its parameter {@code contender}.
 */
final class JmhGroup implements BenchmarkGroup {

    private static final String ALLOCATED = "gc.alloc.rate.norm";
    private static final int KEYS_OF_TINY = 1_000;
    private static final int MOST_HEAP_MEGABYTES = 8_000;

    private final Group group;
    private final Class<?> benchmark;
    private final int threads;
    private final Map<String, String> parameters;
    private final int keys;

    /**
     * @param keys how many keys there are, handed on as the parameter {@code keys}; 0 if the benchmark has no such parameter
     */
    JmhGroup(Group group, Class<?> benchmark, int threads, Map<String, String> parameters, int keys) {
        this.group = group;
        this.benchmark = benchmark;
        this.threads = threads;
        this.parameters = Map.copyOf(parameters);
        this.keys = keys;
    }

    @Override
    public Group group() {
        return group;
    }

    @Override
    public Sample round(Contender contender, Form form) throws RunnerException {
        int keysOfContender = Double.isNaN(contender.x()) ? keys : (int) contender.x();
        ChainedOptionsBuilder options = new OptionsBuilder()
                .include("^" + Pattern.quote(benchmark.getName()) + "\\.")
                .param("contender", contender.series())
                .threads(threads)
                .forks(form == Form.TINY ? 0 : 1)
                .warmupIterations(form.warmups())
                .warmupTime(TimeValue.milliseconds(form.iterationMillis()))
                .measurementIterations(form.iterations())
                .measurementTime(TimeValue.milliseconds(form.iterationMillis()))
                .jvmArgs("-Xms" + heapMegabytes(keysOfContender) + "m", "-Xmx" + heapMegabytes(keysOfContender) + "m")
                .addProfiler(GCProfiler.class)
                .shouldFailOnError(true)
                .verbosity(VerboseMode.SILENT);
        parameters.forEach(options::param);
        if (keysOfContender > 0) {
            int keysOfForm = form == Form.TINY ? Math.min(keysOfContender, KEYS_OF_TINY) : keysOfContender;
            options.param("keys", Integer.toString(keysOfForm));
        }
        RunResult result = new Runner(options.build()).runSingle();
        Result<?> allocated = result.getSecondaryResults().get(ALLOCATED);
        return Sample.of(result.getPrimaryResult().getScore(), allocated == null ? Double.NaN : allocated.getScore());
    }

    /**
     * Room for the heaviest peer at 10^6 keys, several times over: none shall be slowed down by collections that others do not have. With more
     * keys there are only ours and the floor, and most machines have no more.
     */
    private static int heapMegabytes(int keys) {
        return Math.min(MOST_HEAP_MEGABYTES, 512 + keys / 400);
    }

    @Override
    public double expectedSeconds(Form form) {
        double iterations = (form.warmups() + form.iterations()) * form.iterationMillis() / 1000.0;
        return iterations + 1 + keys / 500_000.0;
    }
}
