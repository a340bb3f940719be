package io.github.reactorratelimit.benchmarks.redis;

import io.github.bucket4j.BucketConfiguration;
import io.github.reactorratelimit.TokenBucket;
import java.time.Duration;

/** A token bucket, in the words of each contender. */
record Limit(long capacity, long permits, Duration period) {

    /** Never denies what a load can ask. */
    static final Limit OPEN = perSecond(100_000_000);

    /** Far more than a load can spend of one key among many, and once spent, nothing for minutes. */
    static final Limit SLOW = new Limit(10_000, 10_000, Duration.ofDays(100));

    static Limit perSecond(long permits) {
        return new Limit(permits, permits, Duration.ofSeconds(1));
    }

    Limit withCapacity(long other) {
        return new Limit(other, permits, period);
    }

    TokenBucket policy() {
        return new TokenBucket(capacity, permits, period);
    }

    BucketConfiguration bucket4j() {
        return BucketConfiguration.builder()
                .addLimit(limit -> limit.capacity(capacity).refillGreedy(permits, period))
                .build();
    }
}
