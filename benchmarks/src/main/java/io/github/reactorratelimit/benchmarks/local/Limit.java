package io.github.reactorratelimit.benchmarks.local;

import io.github.bucket4j.Bucket;
import io.github.bucket4j.local.LocalBucketBuilder;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.TokenBucket;
import io.github.resilience4j.ratelimiter.RateLimiter;
import io.github.resilience4j.ratelimiter.RateLimiterConfig;
import java.time.Duration;

/**
 * A limit, and each library's way to build it. As shipped but for what the limit itself says.
 *
 * @param permits per period, all of which may be taken at once
 * @param period the time in which they come back
 */
record Limit(int permits, Duration period) {

    /** So high that nobody is denied. */
    static final Limit GENEROUS = new Limit(500_000_000, Duration.ofSeconds(1));

    /** One permit, for who comes first; everybody else is denied while the benchmark runs. */
    static final Limit SCARCE = new Limit(1, Duration.ofHours(1));

    private static final int SMALL_BURST = 10_000;

    TokenBucket tokenBucket() {
        return TokenBucket.of(permits, period);
    }

    /** Too small for prepaid permits, so that every debit reads the clock; still nobody is denied, since no thread asks so fast. */
    TokenBucket smallTokenBucket() {
        return tokenBucket().withBurst(SMALL_BURST);
    }

    Gcra gcra() {
        return Gcra.of(permits, period);
    }

    /** With its own clock, which counts milliseconds. */
    Bucket bucket4j() {
        return bucket4jBuilder().build();
    }

    Bucket bucket4jInNanoseconds() {
        return bucket4jBuilder().withNanosecondPrecision().build();
    }

    private LocalBucketBuilder bucket4jBuilder() {
        return Bucket.builder().addLimit(limit -> limit.capacity(permits).refillGreedy(permits, period));
    }

    RateLimiter resilience4j() {
        return resilience4j(true);
    }

    RateLimiter resilience4j(boolean stackTraces) {
        RateLimiterConfig config = RateLimiterConfig.custom()
                .limitForPeriod(permits)
                .limitRefreshPeriod(period)
                .timeoutDuration(Duration.ZERO)
                .writableStackTraceEnabled(stackTraces)
                .build();
        return RateLimiter.of("benchmark", config);
    }

    com.google.common.util.concurrent.RateLimiter guava() {
        return com.google.common.util.concurrent.RateLimiter.create(permits / (double) period.toSeconds());
    }

    dev.failsafe.RateLimiter<Object> failsafe() {
        return dev.failsafe.RateLimiter.burstyBuilder(permits, period).build();
    }
}
