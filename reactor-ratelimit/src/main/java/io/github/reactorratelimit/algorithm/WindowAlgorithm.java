package io.github.reactorratelimit.algorithm;

import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.algorithm.WindowGrid.Window;

/**
 * The fixed window. A time before the window of the state counts as in it: falling back to the older
 * window would make the newer one start again. Twin of fixed_window.lua: change both, or neither.
 */
record WindowAlgorithm(FixedWindow policy, WindowGrid grid) implements Algorithm<Window> {

    private static final Window UNUSED = new Window(Long.MIN_VALUE, Long.MIN_VALUE);

    @Override
    public Algorithm<?> compact() {
        return grid instanceof WindowGrid.Epoch epoch && PackedWindowAlgorithm.fits(policy, epoch)
                ? PackedWindowAlgorithm.of(policy, epoch)
                : this;
    }

    @Override
    public long[] toLongs(Window state) {
        return new long[] {state.start(), state.end(), state.used(), state.first()};
    }

    @Override
    public Window ofLongs(long[] longs) {
        Ticks.requireLongs(4, longs);
        return new Window(longs[0], longs[1], longs[2], longs[3]);
    }

    @Override
    public Window fresh() {
        return UNUSED;
    }

    @Override
    public long waitTicks(Window state, long now, long permits) {
        boolean fits = permits <= policy.limit() - used(state, now);
        return fits ? 0 : Ticks.until(state.end(), now);
    }

    @Override
    public Window debit(Window state, long now, long permits) {
        Window current = used(state, now) > 0 ? state : grid.at(now);
        long first = now <= grid.setUntil(current) ? permits : 0;
        return new Window(current.start(), current.end(), current.used() + permits, current.first() + first);
    }

    /** What is overdrawn ends with its window. */
    @Override
    public long chargeable(Window state, long now, long maxDebt) {
        return Ticks.chargeable(policy.limit() - used(state, now), maxDebt, Ticks.EXACT_PERMITS - 1 - policy.limit());
    }

    @Override
    public long remaining(Window state, long now) {
        return Math.max(0, policy.limit() - used(state, now));
    }

    @Override
    public long resetTicks(Window state, long now) {
        return used(state, now) == 0 ? 0 : Ticks.until(state.end(), now);
    }

    /** Counts only in the window of the debit; the window ends later if it would without the debit. */
    @Override
    public Window refund(Window state, long now, long debitedAt, long permits) {
        if (now >= state.end() || debitedAt < state.start() || debitedAt >= state.end()) {
            return state;
        }
        if (permits >= state.used()) {
            return UNUSED;
        }
        long used = state.used() - permits;
        if (debitedAt > grid.setUntil(state)) {
            return new Window(state.start(), state.end(), used, Math.min(state.first(), used));
        }
        return state.first() > permits
                ? new Window(state.start(), state.end(), used, state.first() - permits)
                : grid.reset(state, now, used);
    }

    private static long used(Window state, long now) {
        return now < state.end() ? state.used() : 0;
    }
}
