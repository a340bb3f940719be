package io.github.reactorratelimit.webflux.fragile;

import java.time.Duration;

/**
 * How much work lies before a server that does so much of it per second. Each call adds the time its work takes to the
 * time until which the server is busy. Not safe for use by several threads.
 */
final class Capacity {

    /** A server that fails for being overrun is itself again so long after the calls have stopped, at most. */
    private static final long RECOVERY_NANOS = Duration.ofSeconds(1).toNanos();

    private static final long SECOND_NANOS = Duration.ofSeconds(1).toNanos();

    private final Overload overload;
    private final long toleranceNanos;
    private long workNanos;
    private long busyUntilNanos;

    Capacity(long perSecond, Duration tolerance, Overload overload, long nowNanos) {
        this.overload = overload;
        this.toleranceNanos = tolerance.toNanos();
        this.busyUntilNanos = nowNanos;
        change(perSecond);
    }

    /** Counts for the calls that come from now on. */
    void change(long perSecond) {
        if (perSecond < 1) {
            throw new IllegalArgumentException("capacity must be positive, was " + perSecond);
        }
        workNanos = SECOND_NANOS / perSecond;
    }

    /** Nothing lies before the server any more. */
    void forget(long nowNanos) {
        busyUntilNanos = nowNanos;
    }

    /** Takes a call in; false if it is more than the server can bear. */
    boolean bears(long nowNanos) {
        busyUntilNanos = Math.max(busyUntilNanos, nowNanos);
        boolean bearable = overload == Overload.SLOWS_DOWN || busyUntilNanos - nowNanos <= toleranceNanos;
        if (bearable) {
            busyUntilNanos += workNanos;
        } else if (overload == Overload.FAILS) {
            busyUntilNanos = Math.min(busyUntilNanos + workNanos, nowNanos + toleranceNanos + RECOVERY_NANOS);
        }
        return bearable;
    }

    /** The time until what was taken in is done. */
    long busyNanos(long nowNanos) {
        return Math.max(0, busyUntilNanos - nowNanos);
    }
}
