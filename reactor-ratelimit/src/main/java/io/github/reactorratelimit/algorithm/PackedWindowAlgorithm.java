package io.github.reactorratelimit.algorithm;

import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.Saturated;

/**
 * The steps of {@link WindowAlgorithm} for epoch-aligned windows over one long: the window's start plus a
 * slice of the window for each permit used. There are more slices than permits, up to {@link
 * #SLICES_PER_PERMIT} times, for what is overdrawn; so a state in which any is used lies in {@code (start,
 * end]}. At {@code end} it is either a full window or the unused start of the next: for a time in the old
 * window it is the full one, for a time in the next it means nothing used there, and both are right, since a
 * state in which nothing is used is always written as {@link #fresh()}.
 *
 * @param slices how many a window has
 * @param sliceTicks length of one
 */
record PackedWindowAlgorithm(FixedWindow policy, WindowGrid.Epoch grid, long slices, long sliceTicks)
        implements LongAlgorithm {

    private static final long UNUSED = LAST_RESERVED + 1;
    private static final long SLICES_PER_PERMIT = 1_024;

    static PackedWindowAlgorithm of(FixedWindow policy, WindowGrid.Epoch grid) {
        long slices = policy.limit() > grid.windowTicks / SLICES_PER_PERMIT
                ? grid.windowTicks
                : policy.limit() * SLICES_PER_PERMIT;
        return new PackedWindowAlgorithm(policy, grid, slices, grid.windowTicks / slices);
    }

    /** Whether there are slices for a debt as large as the limit. */
    static boolean fits(FixedWindow policy, WindowGrid.Epoch grid) {
        return policy.limit() <= grid.windowTicks / 2;
    }

    @Override
    public Long fresh() {
        return UNUSED;
    }

    @Override
    public long waitTicks(long state, long now, long permits) {
        boolean fits = permits <= policy.limit() - used(state, now);
        return fits ? 0 : Ticks.until(endOf(state), now);
    }

    @Override
    public long debit(long state, long now, long permits) {
        long used = used(state, now);
        return aboveMarks((used == 0 ? grid.startOf(now) : state) + permits * sliceTicks);
    }

    @Override
    public long chargeable(long state, long now, long maxDebt) {
        return Ticks.chargeable(policy.limit() - used(state, now), maxDebt, slices - policy.limit());
    }

    @Override
    public long remaining(long state, long now) {
        return Math.max(0, policy.limit() - used(state, now));
    }

    @Override
    public long resetTicks(long state, long now) {
        return used(state, now) == 0 ? 0 : Ticks.until(endOf(state), now);
    }

    @Override
    public long refund(long state, long now, long debitedAt, long permits) {
        long used = used(state, now);
        if (used == 0 || grid.startOf(debitedAt) != startOf(state)) {
            return state;
        }
        return permits >= used ? UNUSED : aboveMarks(state - permits * sliceTicks);
    }

    /**
     * The marks are no states: what falls on them, in the first window that a long can tell, is moved to the
     * strict side.
     */
    private static long aboveMarks(long state) {
        return Math.max(state, UNUSED + 1);
    }

    private long used(long state, long now) {
        long start = grid.startOf(now);
        if (state <= start || state == UNUSED) {
            return 0;
        }
        boolean inThisWindow = Ticks.until(state, start) <= grid.windowTicks;
        return (state - (inThisWindow ? start : startOf(state))) / sliceTicks;
    }

    private long startOf(long state) {
        return grid.startOf(state - 1);
    }

    private long endOf(long state) {
        return Saturated.plus(startOf(state), grid.windowTicks);
    }
}
