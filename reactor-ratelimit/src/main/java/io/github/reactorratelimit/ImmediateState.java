package io.github.reactorratelimit;

import org.jspecify.annotations.Nullable;

/** Internal: a state in memory, which decides and refunds on the caller's thread. */
public interface ImmediateState extends LimiterState {

    /**
     * {@link #evaluate}, immediately.
     *
     * @throws RateLimiterClosedException if the state is closed
     * @throws PermitsExceedCapacityException if the policy in effect can never grant the permits
     */
    Decision evaluateNow(String key, @Nullable RateLimitPolicy override, long permits);

    /** {@link #refund}, immediately; the caller has {@linkplain Debit#claim() claimed} the debit. */
    void refundNow(Debit debit);
}
