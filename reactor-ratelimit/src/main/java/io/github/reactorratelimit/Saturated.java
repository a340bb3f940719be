package io.github.reactorratelimit;

import java.time.Duration;

/**
 * Sums and times that end at {@link Long#MAX_VALUE}, which means without a bound, instead of overflowing. For
 * the packages of this library; users do not need it.
 */
public final class Saturated {

    private static final Duration LONGEST = Duration.ofNanos(Long.MAX_VALUE);

    private Saturated() {}

    /** The sum, or {@link Long#MAX_VALUE} if it is larger or {@code more} is that already. */
    public static long plus(long value, long more) {
        long sum = value + more;
        return sum < value || more == Long.MAX_VALUE ? Long.MAX_VALUE : sum;
    }

    /** The time a duration after {@code nanos}. */
    public static long plus(long nanos, Duration duration) {
        return plus(nanos, nanos(duration));
    }

    /** A duration, not negative, as nanoseconds. */
    public static long nanos(Duration duration) {
        return duration.compareTo(LONGEST) >= 0 ? Long.MAX_VALUE : duration.toNanos();
    }
}
