package io.github.reactorratelimit.algorithm;

import io.github.reactorratelimit.Saturated;

/** Times that saturate instead of wrapping: the clock's origin is arbitrary, so a sum may leave the longs. */
final class Ticks {

    /** Permits stay below this: the integers of a double, at every tick. */
    static final long EXACT_PERMITS = 1L << 53;

    private Ticks() {}

    static long minus(long time, long ticks) {
        long difference = time - ticks;
        return difference > time ? Long.MIN_VALUE : difference;
    }

    /** Ticks from {@code from} to {@code to}, 0 if that is past. */
    static long until(long to, long from) {
        if (to <= from) {
            return 0;
        }
        long ticks = to - from;
        return ticks < 0 ? Long.MAX_VALUE : ticks;
    }

    /** Ticks from {@code now} to the end of a span that starts at {@code start}, 0 if that is past. */
    static long left(long start, long length, long now) {
        return now >= start ? Math.max(0, length - until(now, start)) : Saturated.plus(length, until(start, now));
    }

    /**
     * Permits that can be charged.
     *
     * @param room permits that are there; below 0 if more are spent
     * @param exactDebt the most that can be owed and counted exactly
     */
    static long chargeable(long room, long maxDebt, long exactDebt) {
        return Math.max(0, room + Math.min(maxDebt, Math.max(0, exactDebt)));
    }

    /** {@code dividend / divisor} rounded up, of numbers that are not negative. */
    static long ceilDiv(long dividend, long divisor) {
        // Most rates are whole ticks per permit, and a division costs as much as the rest of a step.
        return dividend == 0 || divisor == 1 ? dividend : (dividend - 1) / divisor + 1;
    }

    static void requireLongs(int count, long[] longs) {
        if (longs.length != count) {
            throw new IllegalArgumentException("a state of this policy has " + count + " longs, was " + longs.length);
        }
    }
}
