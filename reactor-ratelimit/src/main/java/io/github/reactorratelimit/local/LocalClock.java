package io.github.reactorratelimit.local;

import io.github.reactorratelimit.algorithm.Algorithms;
import io.github.reactorratelimit.algorithm.Tick;
import java.util.concurrent.TimeUnit;
import reactor.core.scheduler.Scheduler;

/**
 * The time of one limiter: nanoseconds of its scheduler's monotonic clock since the limiter was
 * built. Anchors the epoch once, for windows that are aligned to it; the wall clock is read nowhere
 * else.
 */
final class LocalClock {

    private final Scheduler scheduler;
    private final long originNanos;
    private final long originEpochNanos;

    LocalClock(Scheduler scheduler) {
        this.scheduler = scheduler;
        this.originNanos = scheduler.now(TimeUnit.NANOSECONDS);
        this.originEpochNanos = TimeUnit.MILLISECONDS.toNanos(scheduler.now(TimeUnit.MILLISECONDS));
    }

    long now() {
        return scheduler.now(TimeUnit.NANOSECONDS) - originNanos;
    }

    /** The same clock as the algorithms see it. */
    Algorithms.Clock forAlgorithms() {
        return new Algorithms.Clock(Tick.NANOSECOND, originEpochNanos, 0);
    }
}
