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
import org.openjdk.jmh.infra.ThreadParams;

/** One allowed decision on one of many keys, all of which are known. */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@State(Scope.Benchmark)
public class ManyKeysBenchmark {

    /** Its name. */
    @Param("")
    public String contender = "";

    /** {@code uniform} or {@code zipf}. */
    @Param("uniform")
    public String distribution = "";

    /** How many. */
    @Param("1000")
    public int keys;

    private ManyKeys limiter = key -> false;
    private KeyDraws draws = KeyDraws.of("uniform", 1);

    /** Where a thread is in the draws. */
    @State(Scope.Thread)
    public static class Cursor {

        private static final int FAR_APART = 0x9E3779B1;

        private int next;

        /** Apart from the other threads. */
        @Setup
        public void place(ThreadParams thread) {
            next = thread.getThreadIndex() * FAR_APART;
        }
    }

    /** Enters every key. */
    @Setup
    public void open() {
        draws = KeyDraws.of(distribution, keys);
        limiter = ManyKeys.of(contender, keys);
        for (String key : draws.keys()) {
            limiter.enter(key);
        }
        check();
    }

    /** A decision. */
    @Benchmark
    public boolean ask(Cursor cursor) {
        return limiter.ask(draws.at(cursor.next++));
    }

    /** Figures of the wrong path would be worse than none. */
    @TearDown
    public void check() {
        for (int i = 0; i < 100; i++) {
            if (!limiter.ask(draws.at(i))) {
                throw new IllegalStateException(contender + " denied");
            }
        }
    }
}
