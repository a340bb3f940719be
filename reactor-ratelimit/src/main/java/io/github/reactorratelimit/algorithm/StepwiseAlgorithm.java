package io.github.reactorratelimit.algorithm;

import io.github.reactorratelimit.TokenBucket;

/**
 * The token bucket with stepwise refill. The first debit of a full bucket starts a grid, and each period
 * after it {@code refill} tokens come back at once; a full bucket forgets its grid, so refill points are
 * never closer than a period. Twin of stepwise_bucket.lua: change both, or neither.
 */
record StepwiseAlgorithm(TokenBucket policy, long periodTicks, long exactBelow)
        implements Algorithm<StepwiseAlgorithm.Steps> {

    /**
     * What is missing.
     *
     * @param since the last refill point, or where the grid started
     * @param used tokens missing since then
     */
    record Steps(long since, long used) {}

    private static final Steps FULL = new Steps(Long.MIN_VALUE, 0);

    @Override
    public long limit() {
        return policy.capacity();
    }

    @Override
    public Steps fresh() {
        return FULL;
    }

    @Override
    public long waitTicks(Steps state, long now, long permits) {
        Steps current = at(state, now);
        long missing = permits - (policy.capacity() - current.used);
        return missing <= 0 ? 0 : ticksUntilRefilled(current, now, missing);
    }

    @Override
    public Steps debit(Steps state, long now, long permits) {
        Steps current = at(state, now);
        return current.used == 0 ? new Steps(now, permits) : new Steps(current.since, current.used + permits);
    }

    /** Times stay exact: so many periods, at most, until all is refilled. */
    @Override
    public long chargeable(Steps state, long now, long maxDebt) {
        long periods = exactBelow / 4 / periodTicks;
        long most = periods > Ticks.EXACT_PERMITS / policy.refill() ? Ticks.EXACT_PERMITS : periods * policy.refill();
        return Ticks.chargeable(policy.capacity() - at(state, now).used, maxDebt, most - policy.capacity());
    }

    @Override
    public long remaining(Steps state, long now) {
        return Math.max(0, policy.capacity() - at(state, now).used);
    }

    @Override
    public long resetTicks(Steps state, long now) {
        Steps current = at(state, now);
        return current.used == 0 ? 0 : ticksUntilRefilled(current, now, current.used);
    }

    /**
     * Gives back all if no refill point came since the debit; else only what all the refills that may have
     * come since could not have covered: {@code used} with and without the debit differ by the permits and
     * come closer by at most {@code refill} at each refill point. The grid stays, also if without the debit
     * it would have started later.
     */
    @Override
    public Steps refund(Steps state, long now, long debitedAt, long permits) {
        Steps current = at(state, now);
        long back = permits;
        if (current.since > debitedAt) {
            long periods = Ticks.until(Math.max(now, current.since), debitedAt) / periodTicks;
            boolean covered = periods >= Ticks.ceilDiv(permits, policy.refill()) - 1;
            back = covered ? 0 : permits - (periods + 1) * policy.refill();
        }
        return back >= current.used ? FULL : new Steps(current.since, current.used - back);
    }

    @Override
    public Steps rebase(Steps state, long now) {
        return Ticks.until(state.since, now) > periodTicks ? new Steps(now, state.used) : state;
    }

    /** A time before the last refill point counts as that point. */
    private Steps at(Steps state, long now) {
        long refills = Ticks.until(now, state.since) / periodTicks;
        if (refills >= Ticks.ceilDiv(state.used, policy.refill())) {
            return FULL;
        }
        return refills == 0
                ? state
                : new Steps(state.since + refills * periodTicks, state.used - refills * policy.refill());
    }

    private long ticksUntilRefilled(Steps current, long now, long tokens) {
        return Ticks.left(current.since, Ticks.ceilDiv(tokens, policy.refill()) * periodTicks, now);
    }
}
