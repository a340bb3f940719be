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

    /** Pauses a key, or ends its pause if {@code until} is not ahead. */
    public void pause(String key, long now, long until) {
        if (until <= now) {
            ends.remove(key);
            return;
        }
        makeRoom(now);
        ends.put(key, until);
    }

    /** Pauses a key unless it is paused for longer. */
    public void pauseAtLeast(String key, long now, long until) {
        if (until > now) {
            makeRoom(now);
            ends.merge(key, until, Math::max);
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
