package io.github.reactorratelimit.webflux.client;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import reactor.core.scheduler.Scheduler;

/**
 * Adds up the pauses of a key, each the time that its server gives to one call, so that calls leave no faster than that on
 * average, however many are in flight. That holds for the calls of one filter: of the pauses that several filters request a
 * limiter takes the longest, not the sum.
 */
final class PauseAccumulator {

    /** Shorter pauses are not sent to the store; they add up until they are longer. */
    static final long LEAST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    private static final int FIRST_SWEEP_ABOVE = 1_000;

    private final Scheduler clock;

    /** The end of the pause of each key. */
    private final Map<String, Long> ends = new ConcurrentHashMap<>();

    /** Doubles with what is left after a sweep, so that sweeps cost little per answer. */
    private volatile int sweepAbove = FIRST_SWEEP_ABOVE;

    PauseAccumulator(Scheduler clock) {
        this.clock = clock;
    }

    /**
     * How long to pause the key from now on, after another answer; 0 if that is too short yet.
     *
     * @param paceNanos the time that this answer adds
     * @param mostNanos never for longer than this
     */
    long pauseNanos(String key, long paceNanos, long mostNanos) {
        long now = clock.now(TimeUnit.NANOSECONDS);
        if (ends.size() > sweepAbove) {
            ends.values().removeIf(end -> end - now <= 0);
            sweepAbove = Math.max(FIRST_SWEEP_ABOVE, 2 * ends.size());
        }
        long end = ends.compute(key, (name, before) -> {
            long from = before == null ? now : Math.max(now, before);
            return Math.min(from + paceNanos, now + mostNanos);
        });
        return end - now >= LEAST_PAUSE_NANOS ? end - now : 0;
    }
}
