package io.github.reactorratelimit;

import java.time.Duration;
import java.util.Objects;

/** Durations as nanoseconds that saturate instead of overflowing. */
final class Nanos {

    private static final Duration LONGEST = Duration.ofNanos(Long.MAX_VALUE);

    private Nanos() {}

    /** A wait: zero or longer; what does not fit into a long is {@link Long#MAX_VALUE}, no limit. */
    static long ofWait(String name, Duration value) {
        requireWait(name, value);
        return value.compareTo(LONGEST) >= 0 ? Long.MAX_VALUE : value.toNanos();
    }

    /** Refuses what is no wait: null, or less than zero. */
    static void requireWait(String name, Duration value) {
        Objects.requireNonNull(value, name);
        if (value.isNegative()) {
            throw new IllegalArgumentException(name + " must not be negative, was " + value);
        }
    }

    static long saturatedAdd(long time, long wait) {
        long sum = time + wait;
        return sum < time ? Long.MAX_VALUE : sum;
    }
}
