package io.github.reactorratelimit.algorithm;

import io.github.reactorratelimit.RateLimitPolicy;

/** A {@link LongAlgorithm} over boxed states. */
record BoxedAlgorithm(LongAlgorithm steps) implements Algorithm<Long> {

    @Override
    public RateLimitPolicy policy() {
        return steps.policy();
    }

    @Override
    public long limit() {
        return steps.limit();
    }

    @Override
    public Long fresh() {
        return steps.fresh();
    }

    @Override
    public long waitTicks(Long state, long now, long permits) {
        return steps.waitTicks(state, now, permits);
    }

    @Override
    public Long debit(Long state, long now, long permits) {
        return steps.debit(state, now, permits);
    }

    @Override
    public long chargeable(Long state, long now, long maxDebt) {
        return steps.chargeable(state, now, maxDebt);
    }

    @Override
    public long remaining(Long state, long now) {
        return steps.remaining(state, now);
    }

    @Override
    public long resetTicks(Long state, long now) {
        return steps.resetTicks(state, now);
    }

    @Override
    public Long refund(Long state, long now, long debitedAt, long permits) {
        return steps.refund(state, now, debitedAt, permits);
    }

    @Override
    public Long rebase(Long state, long now) {
        long rebased = steps.rebase(state, now);
        return rebased == state ? state : Long.valueOf(rebased);
    }
}
