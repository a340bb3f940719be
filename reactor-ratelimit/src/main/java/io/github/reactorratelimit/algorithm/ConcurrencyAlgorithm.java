package io.github.reactorratelimit.algorithm;

import io.github.reactorratelimit.ConcurrencyLimit;

/** The concurrency limit: the state is the permits in flight, and only refunds bring them back. */
record ConcurrencyAlgorithm(ConcurrencyLimit policy) implements LongAlgorithm {

    @Override
    public long limit() {
        return policy.max();
    }

    @Override
    public long fresh() {
        return 0;
    }

    @Override
    public long waitTicks(long state, long now, long permits) {
        return permits <= policy.max() - state ? 0 : Algorithm.UNKNOWN;
    }

    @Override
    public long debit(long state, long now, long permits) {
        return state + permits;
    }

    @Override
    public long remaining(long state, long now) {
        return policy.max() - state;
    }

    @Override
    public long resetTicks(long state, long now) {
        return state == 0 ? 0 : Algorithm.UNKNOWN;
    }

    @Override
    public long refund(long state, long now, long debitedAt, long permits) {
        return Math.max(0, state - permits);
    }
}
