package io.github.reactorratelimit.algorithm;

import io.github.reactorratelimit.CompositePolicy;
import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.SlidingWindowCounter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import java.math.BigInteger;
import java.time.Duration;

/** How long a key remembers a debit at most: after that nothing is spent any more. Rounded up, slots ahead aside. */
public final class RecoveryTime {

    private RecoveryTime() {}

    /** For a policy. */
    public static Duration of(RateLimitPolicy policy) {
        if (policy instanceof TokenBucket bucket) {
            return fill(bucket.capacity(), bucket.refill(), bucket.period()).plus(bucket.period());
        }
        if (policy instanceof Gcra gcra) {
            return fill(gcra.burst(), gcra.permits(), gcra.period());
        }
        if (policy instanceof LeakyBucket bucket) {
            return fill(bucket.queueCapacity() + 1, bucket.permits(), bucket.period());
        }
        if (policy instanceof FixedWindow window) {
            return window.window();
        }
        if (policy instanceof SlidingWindowLog log) {
            return log.window();
        }
        if (policy instanceof SlidingWindowCounter counter) {
            return counter.window().multipliedBy(2);
        }
        if (policy instanceof ConcurrencyLimit limit) {
            return limit.lease();
        }
        return ((CompositePolicy) policy)
                .parts().stream().map(RecoveryTime::of).max(Duration::compareTo).orElseThrow();
    }

    private static Duration fill(long permits, long perPeriod, Duration period) {
        BigInteger nanos = BigInteger.valueOf(period.toNanos()).multiply(BigInteger.valueOf(permits));
        BigInteger fill = nanos.divide(BigInteger.valueOf(perPeriod)).add(BigInteger.ONE);
        return Duration.ofNanos(fill.min(BigInteger.valueOf(Long.MAX_VALUE / 4)).longValue());
    }
}
