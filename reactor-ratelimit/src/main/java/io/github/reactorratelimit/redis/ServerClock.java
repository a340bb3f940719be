package io.github.reactorratelimit.redis;

import java.util.concurrent.TimeUnit;
import reactor.core.scheduler.Scheduler;

/**
 * About what time it is on the server. Each reply tells; before the first one the wall clock of this process
 * stands in, which only decides which windows of a calendar are sent along.
 */
final class ServerClock {

    private static final long UNKNOWN = Long.MIN_VALUE;

    private final Scheduler scheduler;
    private final long openedNanos;

    /** The server's microseconds less the scheduler's. */
    private volatile long offsetMicros = UNKNOWN;

    /** The server's time when the limiter was opened. */
    private volatile long startMicros = UNKNOWN;

    ServerClock(Scheduler scheduler) {
        this.scheduler = scheduler;
        this.openedNanos = scheduler.now(TimeUnit.NANOSECONDS);
    }

    /** A reply came with this time. */
    void learn(long serverMicros) {
        long nowNanos = scheduler.now(TimeUnit.NANOSECONDS);
        offsetMicros = serverMicros - nowNanos / 1_000;
        if (startMicros == UNKNOWN) {
            startMicros = serverMicros - Math.max(0, nowNanos - openedNanos) / 1_000;
        }
    }

    /** For tests. */
    void startAt(long serverMicros) {
        startMicros = serverMicros;
    }

    long aboutMicros() {
        long offset = offsetMicros;
        return offset == UNKNOWN
                ? TimeUnit.MILLISECONDS.toMicros(scheduler.now(TimeUnit.MILLISECONDS))
                : offset + scheduler.now(TimeUnit.NANOSECONDS) / 1_000;
    }

    /** Whether a reply has told when the limiter was opened. */
    boolean knowsStart() {
        return startMicros != UNKNOWN;
    }

    /** The server's time when the limiter was opened: since then initial tokens refill. */
    long startMicros() {
        return startMicros;
    }
}
