package io.github.reactorratelimit.benchmarks.local;

import io.github.reactorratelimit.benchmarks.ComparedBenchmark;
import io.github.reactorratelimit.benchmarks.local.LocalContender.Decider;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/** A decision about one key that all threads share: all allowed, or all denied with {@link Limit#PER_DAY}. */
public class OneKeyBenchmark extends ComparedBenchmark {

    private static final String CUSTOMER = "customer-4711";

    @Param
    public LocalContender contender = LocalContender.TOKEN_BUCKET;

    @Param("PER_SECOND")
    public Limit limit = Limit.PER_SECOND;

    /** Permits of a request. */
    @Param("1")
    public long cost;

    /** Characters of the key; longer ones than 13 are like API keys and tokens. */
    @Param("13")
    public int keyLength;

    private Decider decider = (key, permits) -> false;
    private String key = "";
    private boolean allowed;

    /** What a thread has counted. */
    @State(Scope.Thread)
    public static class Counter {

        private long decisions;
        private long unexpected;

        /**
         * All decisions are of one kind, except those of threads that are suspended between the clock and the
         * decision: other threads have moved the state past their time. They are well below one in a hundred.
         */
        @TearDown
        public void check() {
            if (unexpected > 1 + decisions / 100) {
                throw new IllegalStateException(unexpected + " of " + decisions + " decisions were of the other kind");
            }
        }
    }

    /** Opens the limiter, and spends its permits if all requests are to be denied. */
    @Setup
    public void open() {
        key = CUSTOMER + "x".repeat(keyLength - CUSTOMER.length());
        decider = contender.open(limit, 1);
        allowed = limit != Limit.PER_DAY;
        for (int i = 0; !allowed && i <= limit.burst; i++) {
            decider.tryAcquire(key, 1);
        }
    }

    /** A decision. */
    @Benchmark
    public boolean decide(Counter counter) {
        boolean decision = decider.tryAcquire(key, cost);
        counter.decisions++;
        if (decision != allowed) {
            counter.unexpected++;
        }
        return decision;
    }
}
