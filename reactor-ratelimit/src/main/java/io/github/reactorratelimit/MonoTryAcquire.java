package io.github.reactorratelimit;

import org.jspecify.annotations.Nullable;

/** {@link RateLimiter#tryAcquire} of a limiter whose state is in memory. */
final class MonoTryAcquire extends MonoImmediate<Decision> {

    private final Scope limiter;
    private final String key;
    private final @Nullable RateLimitPolicy override;
    private final long permits;

    /**
     * What all requests of a limiter share.
     *
     * @param denied run after each denial
     */
    record Scope(ImmediateState state, DecisionListeners listeners, Runnable denied) {}

    MonoTryAcquire(Scope limiter, String key, @Nullable RateLimitPolicy override, long permits) {
        this.limiter = limiter;
        this.key = key;
        this.override = override;
        this.permits = permits;
    }

    @Override
    Decision decide() {
        return limiter.state.evaluateNow(key, override, permits);
    }

    @Override
    void delivering(Decision decision) {
        limiter.listeners.decided(key, decision.allowed(), permits);
        if (!decision.allowed()) {
            limiter.denied.run();
        }
    }

    @Override
    void undo(Decision decision) {
        Debit debit = decision.debitOrNull();
        if (debit != null && debit.claim()) {
            limiter.state.refundNow(debit);
        }
    }
}
