package io.github.reactorratelimit;

import io.github.reactorratelimit.PolicyLookup.KeyPolicy;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import reactor.core.publisher.Mono;
import reactor.util.context.ContextView;

/**
 * Requests of a limiter that wait: no longer than they want to, and no longer than the deadline in their
 * Context.
 */
record Awaiting(LimiterSettings settings, LimiterState state, DecisionListeners listeners, PolicyLookup policies) {

    /** @param check throws if the key's policy is not for this kind of request */
    Mono<Decision> await(String key, long permits, long maxWaitNanos, Consumer<RateLimitPolicy> check) {
        return policies.isPerKey()
                ? Mono.deferContextual(context -> lookUpAndAwait(key, permits, maxWaitNanos, check, context))
                : Mono.deferContextual(context ->
                        awaitUnder(policies.ofAll(), key, permits, Math.min(maxWaitNanos, untilDeadline(context))));
    }

    private Mono<Decision> awaitUnder(KeyPolicy policy, String key, long permits, long waitNanos) {
        if (permits > policy.capacity()) {
            return Mono.error(new PermitsExceedCapacityException(permits, policy.capacity()));
        }
        RateLimitPolicy override = policy.override();
        return listeners.listen(
                state,
                key,
                permits,
                waitNanos <= 0
                        ? state.evaluate(key, override, permits)
                        : state.await(key, override, permits, waitNanos));
    }

    /**
     * The time of the look-up counts towards the wait. A request with a {@code maxWait} of zero does wait for
     * the policy, as {@link RateLimiter#tryAcquire} does: without it there is no decision.
     */
    private Mono<Decision> lookUpAndAwait(
            String key, long permits, long maxWaitNanos, Consumer<RateLimitPolicy> check, ContextView context) {
        long arrivedNanos = nowNanos();
        long deadline = untilDeadline(context);
        long within = maxWaitNanos == 0 ? deadline : Math.min(maxWaitNanos, deadline);
        return policies.findWithin(key, within).flatMap(found -> {
            long left = within == LimiterState.UNBOUNDED ? within : within - (nowNanos() - arrivedNanos);
            if (found.isEmpty() || (within > 0 && left <= 0)) {
                listeners.decided(key, false, permits);
                return Mono.just(denyUnknown(policies.ofAll().policy(), permits));
            }
            check.accept(found.get().policy());
            return awaitUnder(found.get(), key, permits, Math.min(left, maxWaitNanos));
        });
    }

    /** Denied before the key's policy was known. */
    private static Decision denyUnknown(RateLimitPolicy ofAll, long permits) {
        Decision.Quota nothing = new Decision.Quota(ofAll.capacity(), 0, Decision.Quota.UNKNOWN);
        return Decision.deny(ofAll, permits, nothing, Decision.Quota.UNKNOWN);
    }

    private long untilDeadline(ContextView context) {
        OptionalLong deadlineNanos = RateLimitContext.deadlineNanos(context);
        if (deadlineNanos.isEmpty() || deadlineNanos.getAsLong() == Long.MAX_VALUE) {
            return LimiterState.UNBOUNDED;
        }
        return deadlineNanos.getAsLong() - nowNanos();
    }

    private long nowNanos() {
        return settings.scheduler().now(TimeUnit.NANOSECONDS);
    }
}
