package io.github.reactorratelimit;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;

/** Argument checks whose messages name the argument, its value and what would be accepted. */
final class Checks {

    /** Permits above this cannot be distinguished in exact arithmetic at every tick. */
    static final long MAX_PERMITS = 1L << 52;

    /** A state that matters for longer than this cannot be given a TTL; a leap year still fits. */
    static final Duration MAX_SPAN = Duration.ofDays(366);

    private Checks() {}

    /** For values that are made once; where nanoseconds count, the message must not be built in advance. */
    static void require(boolean holds, String message) {
        if (!holds) {
            throw new IllegalArgumentException(message);
        }
    }

    static void permits(String name, long value) {
        require(value >= 1, name + " must be positive, was " + value);
        require(value <= MAX_PERMITS, name + " must be at most 2^52, was " + value);
    }

    /** Permits of a request; whether they exceed the policy's capacity is for the policy to say. */
    static long asked(long permits) {
        if (permits < 1) {
            throw new IllegalArgumentException("permits must be positive, was " + permits);
        }
        return permits;
    }

    static long notNegative(String name, long value) {
        require(value >= 0, name + " must not be negative, was " + value);
        return value;
    }

    /** Refuses what is no wait: null, or less than zero. */
    static Duration waitTime(String name, Duration value) {
        Objects.requireNonNull(value, name);
        if (value.isNegative()) {
            throw new IllegalArgumentException(name + " must not be negative, was " + value);
        }
        return value;
    }

    static Duration period(String name, Duration value) {
        Objects.requireNonNull(value, name);
        require(!value.isZero() && !value.isNegative(), name + " must be positive, was " + value);
        require(value.compareTo(MAX_SPAN) <= 0, name + " must be at most 366 days, was " + value);
        return value;
    }

    /** Refuses a bucket that needs more than {@link #MAX_SPAN} to fill. */
    static void fillTime(String name, long capacity, long permits, Duration period) {
        require(
                timeFor(capacity, permits, period).orElseThrow().compareTo(MAX_SPAN) <= 0,
                name + " must refill within 366 days, but " + capacity + " at " + permits + " per " + period
                        + " takes longer");
    }

    /**
     * The time for permits that come back at {@code perPeriod} per {@code period}, rounded up and saturated.
     */
    static Optional<Duration> timeFor(long permits, long perPeriod, Duration period) {
        long nanos = period.toNanos();
        if (permits <= Long.MAX_VALUE / nanos) {
            return Optional.of(Duration.ofNanos(-Math.floorDiv(-permits * nanos, perPeriod)));
        }
        BigDecimal exact = BigDecimal.valueOf(permits).multiply(BigDecimal.valueOf(nanos));
        BigDecimal roundedUp = exact.divide(BigDecimal.valueOf(perPeriod), 0, RoundingMode.CEILING);
        return Optional.of(Duration.ofNanos(
                roundedUp.min(BigDecimal.valueOf(Long.MAX_VALUE)).longValue()));
    }

    static long shareOf(String name, long whole, int n) {
        require(n >= 1, "n must be positive, was " + n);
        require(whole >= n, name + " " + whole + " cannot be shared by " + n + ": each would get less than one permit");
        return whole / n;
    }
}
