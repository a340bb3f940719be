package io.github.reactorratelimit;

import java.time.Duration;
import java.util.Objects;
import java.util.Optional;

/**
 * A bucket of {@code capacity} tokens that refills at {@code refill} tokens per {@code period}. A permit
 * takes a token, and a request is denied while there are too few.
 *
 * <p>Worst case in any half-open window {@code W}: {@code capacity + rate * W}; with {@linkplain
 * Refill#STEPWISE stepwise} refill {@code capacity + refill * (floor(W / period) + 1)}. Waiters are debited
 * when their permits come due, up to 20 ms before a late timer lets them leave: emissions keep that bound
 * over {@code W} + 20 ms.
 *
 * <pre>{@code
 * TokenBucket.perSecond(100)                  // 100 per second, bursts of up to 100
 * TokenBucket.perSecond(100).withBurst(20)    // the same rate, bursts of up to 20
 * TokenBucket.of(7, Duration.ofSeconds(3))    // exact, although 3 s / 7 is no whole number
 * }</pre>
 *
 * @param capacity most tokens the bucket holds: the largest burst
 * @param refill tokens that come back per period
 * @param period the time in which {@code refill} tokens come back
 * @param style continuous (one token after the other) or stepwise (all at the end of each period)
 * @param initialTokens tokens that each key has when the limiter starts. They refill from then on, also for a
 *     key that is first used later. Stepwise buckets start full.
 */
public record TokenBucket(long capacity, long refill, Duration period, Refill style, long initialTokens)
        implements RateLimitPolicy {

    /** How tokens come back. */
    public enum Refill {
        /** One after the other, evenly spread over the period. */
        CONTINUOUS,
        /**
         * All {@code refill} tokens at once, a period after the bucket was first touched while full, and each
         * period after.
         */
        STEPWISE
    }

    public TokenBucket {
        Checks.permits("capacity", capacity);
        Checks.permits("refill", refill);
        Checks.period("period", period);
        Objects.requireNonNull(style, "style");
        Checks.fillTime("capacity", capacity, refill, period);
        Checks.require(
                initialTokens >= 0 && initialTokens <= capacity,
                "initialTokens must be between 0 and the capacity " + capacity + ", was " + initialTokens);
        Checks.require(
                style != Refill.STEPWISE || initialTokens == capacity,
                "initialTokens must be the capacity " + capacity + " with stepwise refill, was " + initialTokens);
    }

    /** A full bucket with continuous refill. */
    public TokenBucket(long capacity, long refill, Duration period) {
        this(capacity, refill, period, Refill.CONTINUOUS, capacity);
    }

    /** {@code permits} per {@code period}, with a burst of as many. */
    public static TokenBucket of(long permits, Duration period) {
        return new TokenBucket(permits, permits, period);
    }

    /** {@code permits} per second, with a burst of as many. */
    public static TokenBucket perSecond(long permits) {
        return of(permits, Duration.ofSeconds(1));
    }

    /** {@code permits} per minute, with a burst of as many. */
    public static TokenBucket perMinute(long permits) {
        return of(permits, Duration.ofMinutes(1));
    }

    /** {@code permits} per hour, with a burst of as many. */
    public static TokenBucket perHour(long permits) {
        return of(permits, Duration.ofHours(1));
    }

    /** The same rate with another capacity; a bucket that started full still does. */
    public TokenBucket withBurst(long capacity) {
        long initial = initialTokens == this.capacity ? capacity : initialTokens;
        return new TokenBucket(capacity, refill, period, style, initial);
    }

    /** The same bucket, holding {@code tokens} when the limiter starts. */
    public TokenBucket withInitialTokens(long tokens) {
        return new TokenBucket(capacity, refill, period, style, tokens);
    }

    /** The same bucket, refilled by {@code refill} tokens at once at the end of each period. */
    public TokenBucket stepwise() {
        return new TokenBucket(capacity, refill, period, Refill.STEPWISE, initialTokens);
    }

    @Override
    public TokenBucket share(int n) {
        long each = Checks.shareOf("capacity", capacity, n);
        if (style == Refill.STEPWISE) {
            return new TokenBucket(each, Checks.shareOf("refill", refill, n), period, style, each);
        }
        return new TokenBucket(each, refill, period.multipliedBy(n), style, initialTokens / n);
    }

    @Override
    public Optional<Duration> timeFor(long permits) {
        return Checks.timeFor(permits, refill, period);
    }

    @Override
    public <R> R accept(PolicyVisitor<R> visitor) {
        return visitor.visit(this);
    }
}
