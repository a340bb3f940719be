package io.github.reactorratelimit.local;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Keys that are denied everything for a while, by the time their pause ends. */
final class Pauses {

    /** The end of a pause that never was. */
    static final long NOT_PAUSED = Long.MIN_VALUE;

    private static final int FIRST_SWEEP_ABOVE = 1_000;

    private final Map<String, Long> ends = new ConcurrentHashMap<>();

    /** Doubles with what is left after a sweep, so that sweeps cost little per pause. */
    private volatile int sweepAbove = FIRST_SWEEP_ABOVE;

    long endOf(String key) {
        return ends.isEmpty() ? NOT_PAUSED : ends.getOrDefault(key, NOT_PAUSED);
    }

    boolean isPaused(String key, long now) {
        return now < endOf(key);
    }

    void pause(String key, long now, long until) {
        if (until <= now) {
            ends.remove(key);
            return;
        }
        if (ends.size() > sweepAbove) {
            ends.values().removeIf(end -> end <= now);
            sweepAbove = Math.max(FIRST_SWEEP_ABOVE, 2 * ends.size());
        }
        ends.put(key, until);
    }

    void end(String key) {
        ends.remove(key);
    }
}
