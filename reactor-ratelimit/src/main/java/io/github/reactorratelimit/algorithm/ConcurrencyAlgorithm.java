package io.github.reactorratelimit.algorithm;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.RateLimitPolicy;

/**
 * The concurrency limit: the state is the permits in flight, and only refunds bring them back. States do not
 * depend on the limit, which may change: there may be more in flight than a lower one allows, until they come
 * back.
 */
final class ConcurrencyAlgorithm implements LongAlgorithm {

    private volatile ConcurrencyLimit policy;

    ConcurrencyAlgorithm(ConcurrencyLimit policy) {
        this.policy = policy;
    }

    @Override
    public ConcurrencyLimit policy() {
        return policy;
    }

    @Override
    public boolean changeTo(RateLimitPolicy other) {
        if (other instanceof ConcurrencyLimit limit) {
            policy = limit;
            return true;
        }
        return false;
    }

    @Override
    public Long fresh() {
        return 0L;
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
        return Math.max(0, policy.max() - state);
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
