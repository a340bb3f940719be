package io.github.reactorratelimit.benchmarks;

import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;

/** What all benchmarks share: each contender and each jar of the core is measured in a separate JVM. */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(
        value = 1,
        jvmArgs = {"-Xms1g", "-Xmx1g"})
@State(Scope.Benchmark)
public abstract class ComparedBenchmark {

    /** The jar of this build. */
    public static final String CURRENT = "current";

    /** The jar that {@code -Dbench.baseline} names. */
    public static final String BASELINE = "baseline";

    /** Which jar of the core is on the class path; only the results need it. */
    @Param(CURRENT)
    public String jar = CURRENT;
}
