package io.github.reactorratelimit.queue;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Keys that are denied everything for a while, by the time their pause ends. */
public final class Pauses {

    /** The end of a pause that never was. */
    public static final long NOT_PAUSED = Long.MIN_VALUE;

    private static final int FIRST_SWEEP_ABOVE = 1_000;

    private final Map<String, Long> ends = new ConcurrentHashMap<>();

    /** Set before the first pause: where nobody ever paused, one glance tells. */
    private volatile boolean used;

    /** Doubles with what is left after a sweep, so that sweeps cost little per pause. */
    private volatile int sweepAbove = FIRST_SWEEP_ABOVE;

    /** When the pause of a key ends or ended; {@link #NOT_PAUSED} if there is none. */
    public long endOf(String key) {
        return !used || ends.isEmpty() ? NOT_PAUSED : ends.getOrDefault(key, NOT_PAUSED);
    }

    /** Whether the key is denied everything now. */
    public boolean isPaused(String key, long now) {
        return now < endOf(key);
    }

    /**
     * Pauses a key, or ends its pause if {@code until} is not ahead.
     *
     * @param extendOnly whether a longer pause stays, and none is ended
     */
    public void pause(String key, long now, long until, boolean extendOnly) {
        if (until > now) {
            makeRoom(now);
            ends.merge(key, until, extendOnly ? Math::max : (before, after) -> after);
        } else if (!extendOnly) {
            ends.remove(key);
        }
    }

    private void makeRoom(long now) {
        used = true;
        if (ends.size() > sweepAbove) {
            ends.values().removeIf(end -> end <= now);
            sweepAbove = Math.max(FIRST_SWEEP_ABOVE, 2 * ends.size());
        }
    }

    /** Ends the pause of a key. */
    public void end(String key) {
        ends.remove(key);
    }
}
