package io.github.reactorratelimit.benchmarks;

import io.github.bucket4j.Bucket;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * What one allowed decision on one key costs: ours, Bucket4j's, and the floor below which no limiter
 * with a clock and shared state can get. The key is one for all threads, the worst case for a CAS.
 *
 * <pre>
 * mvn -q -pl benchmarks -am spring-boot:run -Dspring-boot.run.arguments="TryAcquire -t 2 -prof gc"
 * </pre>
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
@State(Scope.Benchmark)
public class TryAcquireBenchmark {

    /** High enough that nobody is denied. */
    private static final long PERMITS_PER_SECOND = 500_000_000;

    private final RateLimiter limiter = RateLimiter.of(TokenBucket.perSecond(PERMITS_PER_SECOND));

    private final Bucket bucket = Bucket.builder()
            .addLimit(
                    limit -> limit.capacity(PERMITS_PER_SECOND).refillGreedy(PERMITS_PER_SECOND, Duration.ofSeconds(1)))
            .withNanosecondPrecision()
            .build();

    private final AtomicLong lastNanos = new AtomicLong();

    /** The floor: a clock read. */
    @Benchmark
    public long clock() {
        return System.nanoTime();
    }

    /** The floor of shared state: a clock read and one CAS. */
    @Benchmark
    public boolean clockAndCas() {
        long seen = lastNanos.get();
        return lastNanos.compareAndSet(seen, System.nanoTime());
    }

    /** Ours, in process. */
    @Benchmark
    public boolean reactorRateLimit() {
        return limiter.tryAcquireNow("key", 1);
    }

    /** Bucket4j's local bucket, without a look-up by key. */
    @Benchmark
    public boolean bucket4j() {
        return bucket.tryConsume(1);
    }

    /** Ends the limiter. */
    @TearDown
    public void close() {
        limiter.dispose();
    }
}
