package io.github.reactorratelimit.algorithm;

import io.github.reactorratelimit.SlidingWindowCounter;

/**
 * The sliding window counter: permits of the current window plus those of the previous one, weighted by the
 * share of it that the sliding window still covers. The weight is rounded down to whole permits, as in the
 * published rule: {@code floor(previous * (W - elapsed) / W) + current + permits <= limit}. So a caller that
 * takes every permit it can get has {@code limit} per window. Where {@code limit * W} would not be exact, W
 * and elapsed are counted in grains of several ticks, W rounded up and elapsed down, so that the weight only
 * grows. A time before the current window counts as its start. Twin of sliding_counter.lua: change both, or
 * neither.
 */
record CounterAlgorithm(
        SlidingWindowCounter policy, WindowGrid.Epoch grid, WindowResolution resolution, long exactBelow)
        implements Algorithm<CounterAlgorithm.Counts> {

    /**
     * Permits of two windows.
     *
     * @param start first tick of the current window
     * @param previous permits of the window before it
     * @param current permits of this one
     */
    record Counts(long start, long previous, long current) {}

    private static final Counts UNUSED = new Counts(Long.MIN_VALUE, 0, 0);

    @Override
    public long[] toLongs(Counts state) {
        return new long[] {state.start(), state.previous(), state.current()};
    }

    @Override
    public Counts ofLongs(long[] longs) {
        Ticks.requireLongs(3, longs);
        return new Counts(longs[0], longs[1], longs[2]);
    }

    @Override
    public Counts fresh() {
        return UNUSED;
    }

    @Override
    public long waitTicks(Counts state, long now, long permits) {
        Counts counts = at(state, now);
        if (permits <= room(counts, now)) {
            return 0;
        }
        return Ticks.left(counts.start, elapsedWhenAllowed(counts, permits), now);
    }

    @Override
    public Counts debit(Counts state, long now, long permits) {
        Counts counts = at(state, now);
        return new Counts(counts.start, counts.previous, counts.current + permits);
    }

    /** What is overdrawn weighs in the next window too, as all permits do. */
    @Override
    public long chargeable(Counts state, long now, long maxDebt) {
        long exactDebt = Math.min(Ticks.EXACT_PERMITS, exactBelow / resolution.windowGrains()) - 1 - capacity();
        return Ticks.chargeable(signedRoom(at(state, now), now), maxDebt, exactDebt);
    }

    @Override
    public long remaining(Counts state, long now) {
        return room(at(state, now), now);
    }

    @Override
    public long resetTicks(Counts state, long now) {
        return waitTicks(state, now, capacity());
    }

    /** Counts only in the window of the debit. */
    @Override
    public Counts refund(Counts state, long now, long debitedAt, long permits) {
        Counts counts = at(state, now);
        if (debitedAt < counts.start || Ticks.until(debitedAt, counts.start) >= grid.windowTicks) {
            return state;
        }
        return new Counts(counts.start, counts.previous, Math.max(0, counts.current - permits));
    }

    private Counts at(Counts state, long now) {
        long elapsed = Ticks.until(now, state.start);
        if (elapsed < grid.windowTicks) {
            return state;
        }
        return new Counts(grid.startOf(now), elapsed < 2 * grid.windowTicks ? state.current : 0, 0);
    }

    private long room(Counts counts, long now) {
        return Math.max(0, signedRoom(counts, now));
    }

    private long signedRoom(Counts counts, long now) {
        long elapsedGrains = Ticks.until(now, counts.start) / resolution.grainTicks();
        long weighted = counts.previous * (resolution.windowGrains() - elapsedGrains) / resolution.windowGrains();
        return capacity() - counts.current - weighted;
    }

    /**
     * In this window if enough of the previous one slides out in time, else in the next, at last in the one
     * after.
     */
    private long elapsedWhenAllowed(Counts counts, long permits) {
        if (counts.current + permits <= capacity()) {
            long elapsed = elapsedUntil(counts.previous, capacity() - counts.current - permits);
            if (elapsed < grid.windowTicks) {
                return elapsed;
            }
        }
        return grid.windowTicks + Math.min(elapsedUntil(counts.current, capacity() - permits), grid.windowTicks);
    }

    /** Ticks into a window until {@code previous} weighs less than {@code room + 1}. */
    private long elapsedUntil(long previous, long room) {
        if (previous <= room) {
            return 0;
        }
        return (resolution.windowGrains() + 1 - Ticks.ceilDiv((room + 1) * resolution.windowGrains(), previous))
                * resolution.grainTicks();
    }
}
