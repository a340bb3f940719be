package io.github.reactorratelimit.examples.playground.fragile;

import java.time.Duration;

/**
 * The work that lies before a server. Each call adds the time that its work takes to the time until which the server is busy. Not safe for
 * use by several threads.
 */
final class Load {

    /** Work that may lie before a server that refuses or fails when it takes one more call in: what came together. */
    static final Duration TOLERANCE = Duration.ofMillis(250);

    /** Work that may lie before a server that slows down; beyond that nobody gets a connection. */
    static final Duration LONGEST_LINE = Duration.ofSeconds(3);

    /** A server that fails is itself again so long after the calls have stopped, at most. */
    static final Duration RECOVERY = Duration.ofSeconds(1);

    private static final long SECOND_NANOS = Duration.ofSeconds(1).toNanos();

    private long busyUntilNanos;

    Load(long nowNanos) {
        this.busyUntilNanos = nowNanos;
    }

    /** Takes a call in; false if it is more than the server can bear. */
    boolean take(long nowNanos, long perSecond, Breaks breaks) {
        long workNanos = SECOND_NANOS / perSecond;
        long borneNanos = (breaks == Breaks.SLOWS_DOWN ? LONGEST_LINE : TOLERANCE).toNanos();
        busyUntilNanos = Math.max(busyUntilNanos, nowNanos);
        if (busyUntilNanos - nowNanos <= borneNanos) {
            busyUntilNanos += workNanos;
            return true;
        }
        if (breaks == Breaks.FAILS) {
            long atMost = nowNanos + TOLERANCE.plus(RECOVERY).toNanos();
            busyUntilNanos = Math.min(busyUntilNanos + workNanos, atMost);
        }
        return false;
    }

    /** The time until all that was taken in is done. */
    long busyNanos(long nowNanos) {
        return Math.max(0, busyUntilNanos - nowNanos);
    }
}
