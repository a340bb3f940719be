package io.github.reactorratelimit.algorithm;

import java.time.Duration;

/**
 * The unit in which a store counts time, and how far its integers are exact. At the same tick every
 * implementation of an algorithm gives the same answers.
 */
public enum Tick {
    /** In this process: longs. */
    NANOSECOND(1, 1L << 62),
    /** In Redis: the integers of a double. */
    MICROSECOND(1_000, 1L << 53);

    private final long nanos;
    private final long exactBelow;

    Tick(long nanos, long exactBelow) {
        this.nanos = nanos;
        this.exactBelow = exactBelow;
    }

    /** Products of an algorithm stay below this. */
    public long exactBelow() {
        return exactBelow;
    }

    /** Whether a store with this tick holds the integer exactly. */
    public boolean holds(long value) {
        return -exactBelow < value && value < exactBelow;
    }

    /**
     * Checks that a store with this tick holds the integer exactly.
     *
     * @throws IllegalArgumentException if it does not, naming it
     */
    public void check(String name, long value) {
        if (!holds(value)) {
            throw new IllegalArgumentException(
                    name + " must lie below 2^" + Long.numberOfTrailingZeros(exactBelow) + ", was " + value);
        }
    }

    /** A duration as ticks; {@code name} is for the error if it is no whole number of ticks. */
    public long ticks(String name, Duration duration) {
        long inNanos = duration.toNanos();
        if (inNanos % nanos != 0) {
            throw new IllegalArgumentException(
                    name + " must be a whole number of microseconds in this store, was " + duration);
        }
        return inNanos / nanos;
    }

    /** Ticks as nanoseconds, saturated: {@link Long#MAX_VALUE} stays what it is. */
    public long toNanos(long ticks) {
        return ticks > Long.MAX_VALUE / nanos ? Long.MAX_VALUE : ticks * nanos;
    }
}
