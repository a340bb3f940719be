package io.github.reactorratelimit.webflux.client;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import reactor.core.scheduler.Scheduler;

/**
 * How long keys are to be paused for answers that came, each for the time that its server gives to a call. What answers that come together are worth
 * adds up, so that calls leave no faster than that on average, however many are under way. That holds for the calls of one filter: a limiter takes the longest
 * of the pauses that several ask for, not their sum.
 */
final class PauseAccumulator {

    /** Less than this is not worth a word to the store; it adds up until it is. */
    static final long LEAST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    private static final int FIRST_SWEEP_ABOVE = 1_000;

    private final Scheduler clock;

    /** When what the answers of a key are worth is over. */
    private final Map<String, Long> ends = new ConcurrentHashMap<>();

    /** Doubles with what is left after a sweep, so that sweeps cost little per answer. */
    private volatile int sweepAbove = FIRST_SWEEP_ABOVE;

    PauseAccumulator(Scheduler clock) {
        this.clock = clock;
    }

    /**
     * For how long from now the key is to be paused, after another answer; 0 if that is not worth it yet.
     *
     * @param paceNanos what this answer adds
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
