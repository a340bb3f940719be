package io.github.reactorratelimit.benchmarks.local;

import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/** One decision on one key that all threads share, the worst case for a CAS. */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@State(Scope.Benchmark)
public class OneKeyBenchmark {

    /** Its name. */
    @Param("")
    public String contender = "";

    /** Whether everybody is allowed, or everybody denied. */
    @Param("true")
    public boolean allowed;

    private OneKey limiter = () -> false;

    /** Takes the only permit where everybody shall be denied. */
    @Setup
    public void open() {
        limiter = OneKey.of(contender, allowed ? Limit.GENEROUS : Limit.SCARCE);
        limiter.ask();
        check();
    }

    /** A decision. */
    @Benchmark
    public boolean ask() {
        return limiter.ask();
    }

    /** Figures of the wrong path would be worse than none. */
    @TearDown
    public void check() {
        if (limiter.ask() != allowed) {
            throw new IllegalStateException(contender + (allowed ? " denied" : " allowed"));
        }
    }
}
