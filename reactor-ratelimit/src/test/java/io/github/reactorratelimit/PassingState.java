package io.github.reactorratelimit;

import reactor.core.publisher.Mono;

/** A state that passes everything on: a test changes the one thing it is about. */
class PassingState extends WrappedState {

    PassingState(LimiterState live) {
        super(live);
    }

    @Override
    public boolean tryAcquireNow(String key, RateLimitPolicy policy, long permits) {
        return live.tryAcquireNow(key, policy, permits);
    }

    @Override
    public Verdict decideNow(String key, RateLimitPolicy policy, long permits) {
        return live.decideNow(key, policy, permits);
    }

    @Override
    public Mono<Decision> evaluate(String key, RateLimitPolicy policy, long permits) {
        return live.evaluate(key, policy, permits);
    }

    @Override
    public Mono<Decision> await(String key, RateLimitPolicy policy, long permits, long maxWaitNanos) {
        return live.await(key, policy, permits, maxWaitNanos);
    }

    @Override
    void answeredTogether(JointState.Take take, Decision decision, boolean kept) {}
}
