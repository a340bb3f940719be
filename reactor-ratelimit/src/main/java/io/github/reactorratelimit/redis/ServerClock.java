package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.RateLimitRecorder;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import reactor.core.scheduler.Scheduler;

/**
 * About what time it is on the server. Each reply tells; before the first one the wall clock of this process
 * stands in, which only decides which windows of a calendar are sent along. On a Cluster it is the clock of
 * the node that replied.
 *
 * <p>Tells the recorder, if there is one, how far the server's clock is ahead of this machine's: at the first
 * reply, and then every 30 seconds while the limiter is used.
 */
final class ServerClock {

    private static final long UNKNOWN = Long.MIN_VALUE;
    private static final long COMPARE_EVERY_NANOS = Duration.ofSeconds(30).toNanos();
    private static final long MILLI_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    private final Scheduler scheduler;
    private final RateLimitRecorder recorder;
    private final long openedNanos;
    private final AtomicLong compareAtNanos;

    /** The server's microseconds less the scheduler's. */
    private volatile long offsetMicros = UNKNOWN;

    /** The server's time when the limiter was opened. */
    private volatile long startMicros = UNKNOWN;

    ServerClock(Scheduler scheduler, RateLimitRecorder recorder) {
        this.scheduler = scheduler;
        this.recorder = recorder;
        this.openedNanos = scheduler.now(TimeUnit.NANOSECONDS);
        this.compareAtNanos = new AtomicLong(openedNanos);
    }

    /** A reply came with this time. */
    void learn(long serverMicros) {
        long nowNanos = scheduler.now(TimeUnit.NANOSECONDS);
        offsetMicros = serverMicros - nowNanos / 1_000;
        if (startMicros == UNKNOWN) {
            startMicros = serverMicros - Math.max(0, nowNanos - openedNanos) / 1_000;
        }
    }

    /**
     * A reply came. The server read its clock between the sending and now, and this machine's clock shows
     * whole milliseconds: the middle of both is off by no more than half of both.
     *
     * @param sentNanos a time before the call was sent
     */
    void compare(long serverMicros, long sentNanos) {
        long due = compareAtNanos.get();
        if (recorder == RateLimitRecorder.NOOP
                || sentNanos - due < 0
                || !compareAtNanos.compareAndSet(due, sentNanos + COMPARE_EVERY_NANOS)) {
            return;
        }
        long wallNanos = TimeUnit.MILLISECONDS.toNanos(scheduler.now(TimeUnit.MILLISECONDS));
        long tookNanos = scheduler.now(TimeUnit.NANOSECONDS) - sentNanos;
        long serverNanos = TimeUnit.MICROSECONDS.toNanos(serverMicros);
        long errorNanos = (tookNanos + MILLI_NANOS) / 2 + 1;
        recorder.clockRead(serverNanos - (wallNanos + MILLI_NANOS / 2 - tookNanos / 2), errorNanos);
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

    /** Whether it is known when, on the server's clock, the limiter was opened. */
    boolean knowsStart() {
        return startMicros != UNKNOWN;
    }

    /** The server's time when the limiter was opened: since then initial tokens refill. */
    long startMicros() {
        return startMicros;
    }
}
