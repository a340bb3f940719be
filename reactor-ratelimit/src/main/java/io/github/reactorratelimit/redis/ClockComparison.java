package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.RateLimitRecorder;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Tells the recorder how far the server's clock is ahead of this machine's: at the first reply, and then
 * every 30 seconds while the limiter is used. On a Cluster that is the clock of the node that replied.
 * Without a recorder it does nothing.
 */
final class ClockComparison {

    private static final long EVERY_NANOS = Duration.ofSeconds(30).toNanos();
    private static final long MILLI_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    private final LimiterSettings settings;
    private final boolean isWanted;
    private final AtomicLong dueNanos;

    ClockComparison(LimiterSettings settings) {
        this.settings = settings;
        this.isWanted = settings.recorder() != RateLimitRecorder.NOOP;
        this.dueNanos = new AtomicLong(settings.scheduler().now(TimeUnit.NANOSECONDS));
    }

    /**
     * A reply came. The server read its clock between the sending and now, and this machine's clock shows
     * whole milliseconds: the middle of both is off by no more than half of both.
     *
     * @param sentNanos a time before the call was sent
     */
    void compare(long serverMicros, long sentNanos) {
        long due = dueNanos.get();
        if (!isWanted || sentNanos - due < 0 || !dueNanos.compareAndSet(due, sentNanos + EVERY_NANOS)) {
            return;
        }
        long wallNanos = TimeUnit.MILLISECONDS.toNanos(settings.scheduler().now(TimeUnit.MILLISECONDS));
        long tookNanos = settings.scheduler().now(TimeUnit.NANOSECONDS) - sentNanos;
        long serverNanos = TimeUnit.MICROSECONDS.toNanos(serverMicros);
        long errorNanos = (tookNanos + MILLI_NANOS) / 2 + 1;
        settings.recorder().clockRead(serverNanos - (wallNanos + MILLI_NANOS / 2 - tookNanos / 2), errorNanos);
    }
}
