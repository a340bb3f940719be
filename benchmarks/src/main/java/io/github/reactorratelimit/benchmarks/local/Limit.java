package io.github.reactorratelimit.benchmarks.local;

import com.google.common.util.concurrent.RateLimiter;
import io.github.bucket4j.Bucket;
import io.github.bucket4j.local.LocalBucketBuilder;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.local.LocalStore;
import io.github.resilience4j.ratelimiter.RateLimiterConfig;
import java.time.Duration;

/**
 * An everyday limit, and how each library builds it. To measure allowed decisions, time runs faster: this
 * library and Bucket4j get a {@link FastClock}; the period of a library that accepts no clock is divided by
 * the same speed.
 */
public enum Limit {
    /** 1 000 per second, burst 100. */
    PER_SECOND(1_000, Duration.ofSeconds(1), 100, 1_000_000),
    /** 100 per minute, burst 20. */
    PER_MINUTE(100, Duration.ofMinutes(1), 20, 60_000_000),
    /** 10 per second, burst 1. */
    ONE_BY_ONE(10, Duration.ofSeconds(1), 1, 100_000_000),
    /** 100 per day, burst 20, at the machine's time: after 20 permits everything is denied. */
    PER_DAY(100, Duration.ofDays(1), 20, 1);

    final int permits;
    final Duration period;
    final int burst;
    final long speed;

    Limit(int permits, Duration period, int burst, long speed) {
        this.permits = permits;
        this.period = period;
        this.burst = burst;
        this.speed = speed;
    }

    TokenBucket tokenBucket() {
        return TokenBucket.of(permits, period).withBurst(burst);
    }

    /** This limit and further ones that are wider, as in "per second and per minute and per hour". */
    TokenBucket wider(int factor) {
        return TokenBucket.of((long) permits * factor, period.multipliedBy(factor))
                .withBurst((long) burst * factor);
    }

    io.github.reactorratelimit.RateLimiter limiter(RateLimitPolicy policy, int keys) {
        return io.github.reactorratelimit.RateLimiter.builder(policy)
                .scheduler(new FastClock(speed))
                .store(LocalStore.withMaxKeys(keys + Math.max(16, keys / 16)))
                .build();
    }

    io.github.reactorratelimit.RateLimiter limiter() {
        return limiter(tokenBucket(), 1);
    }

    /** A bucket with so many bandwidths, each wider than the one before. */
    Bucket bucket4j(int bandwidths) {
        LocalBucketBuilder builder = Bucket.builder();
        for (int number = 1; number <= bandwidths; number++) {
            int factor = number;
            builder.addLimit(limit -> limit.capacity((long) burst * factor)
                    .refillGreedy((long) permits * factor, period.multipliedBy(factor)));
        }
        return builder.withCustomTimePrecision(new FastClock(speed)).build();
    }

    io.github.resilience4j.ratelimiter.RateLimiter resilience4j() {
        RateLimiterConfig config = RateLimiterConfig.custom()
                .limitForPeriod(burst)
                .limitRefreshPeriod(burstPeriod())
                .timeoutDuration(Duration.ZERO)
                .writableStackTraceEnabled(false)
                .build();
        return io.github.resilience4j.ratelimiter.RateLimiter.of("benchmark", config);
    }

    /** Its burst is always the permits of one second. */
    RateLimiter guava() {
        return RateLimiter.create(permits * (double) speed / period.toSeconds());
    }

    dev.failsafe.RateLimiter<Object> failsafe() {
        return dev.failsafe.RateLimiter.burstyBuilder(burst, burstPeriod()).build();
    }

    /** How long a whole burst takes to come back, for libraries that refill at once and accept no clock. */
    private Duration burstPeriod() {
        return Duration.ofNanos(Math.max(1, period.toNanos() / permits * burst / speed));
    }
}
