package io.github.reactorratelimit.algorithm;

import io.github.reactorratelimit.SlidingWindowLog;

/**
 * The sliding window log. A permit granted at {@code t} counts until {@code t + window}, where it leaves;
 * so no half-open window sees more than the limit. A time before the youngest entry counts as that
 * entry's, and the permits are logged there. Twin of sliding_log.lua: change both, or neither.
 */
record LogAlgorithm(SlidingWindowLog policy, long windowTicks) implements Algorithm<PermitLog> {

    /** What a log holds at most, debts included: half of where the totals of the twin wrap. */
    private static final long MOST_PERMITS = 500_000;

    @Override
    public long[] toLongs(PermitLog state) {
        return state.toLongs();
    }

    @Override
    public PermitLog ofLongs(long[] longs) {
        return PermitLog.ofLongs(longs);
    }

    @Override
    public PermitLog fresh() {
        return PermitLog.EMPTY;
    }

    @Override
    public long waitTicks(PermitLog state, long now, long permits) {
        long cutoff = cutoff(state, now);
        long tooMany = state.after(cutoff) + permits - policy.limit();
        return tooMany <= 0 ? 0 : Ticks.left(state.timeOf(tooMany, cutoff), windowTicks, now);
    }

    @Override
    public PermitLog debit(PermitLog state, long now, long permits) {
        return state.plus(stamp(state, now), Math.toIntExact(permits), cutoff(state, now));
    }

    /** What is overdrawn leaves the window as all permits do, a window after it was charged. */
    @Override
    public long chargeable(PermitLog state, long now, long maxDebt) {
        long room = policy.limit() - state.after(cutoff(state, now));
        return Ticks.chargeable(room, maxDebt, MOST_PERMITS - policy.limit());
    }

    @Override
    public long remaining(PermitLog state, long now) {
        return Math.max(0, policy.limit() - state.after(cutoff(state, now)));
    }

    @Override
    public long resetTicks(PermitLog state, long now) {
        return state.isEmpty() ? 0 : Ticks.left(state.last(), windowTicks, now);
    }

    /**
     * Takes the permits out of the entry of the debit's time, as far as they are there. If they were logged
     * later than they were debited, they stay, or older ones go in their place: either is stricter.
     */
    @Override
    public PermitLog refund(PermitLog state, long now, long debitedAt, long permits) {
        return debitedAt <= cutoff(state, now) ? state : state.minus(debitedAt, Math.toIntExact(permits));
    }

    private static long stamp(PermitLog state, long now) {
        return state.isEmpty() ? now : Math.max(now, state.last());
    }

    private long cutoff(PermitLog state, long now) {
        return Ticks.minus(stamp(state, now), windowTicks);
    }
}
