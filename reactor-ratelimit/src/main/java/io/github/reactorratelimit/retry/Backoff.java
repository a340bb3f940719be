package io.github.reactorratelimit.retry;

import java.time.Duration;
import java.util.Objects;
import java.util.function.LongUnaryOperator;

/**
 * How long to wait before a retry: any time up to a bound that doubles each time.
 *
 * @param firstNanos the bound of the first
 * @param maxNanos the bound of all
 * @param random a number from 0 up to and without its argument
 */
record Backoff(long firstNanos, long maxNanos, LongUnaryOperator random) {

    private static final Duration LONGEST = Duration.ofDays(366);

    static Backoff of(Duration first, Duration max, LongUnaryOperator random) {
        positive("first", first);
        positive("max", max);
        if (first.compareTo(max) > 0) {
            throw new IllegalArgumentException("first must be at most max, but " + first + " > " + max);
        }
        return new Backoff(first.toNanos(), max.toNanos(), random);
    }

    static Duration positive(String name, Duration value) {
        Objects.requireNonNull(value, name);
        if (value.isZero() || value.isNegative() || value.compareTo(LONGEST) > 0) {
            throw new IllegalArgumentException(name + " must be positive and at most 366 days, was " + value);
        }
        return value;
    }

    Backoff with(LongUnaryOperator otherRandom) {
        return new Backoff(firstNanos, maxNanos, otherRandom);
    }

    /** Before the retry after {@code retries} others. */
    long nanos(long retries) {
        boolean grown = retries >= Long.SIZE - 1 || firstNanos > maxNanos >> retries;
        long bound = grown ? maxNanos : firstNanos << retries;
        return random.applyAsLong(bound + 1);
    }
}
