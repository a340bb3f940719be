package io.github.reactorratelimit;

import java.time.Duration;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import reactor.core.publisher.Mono;

/** Requests of a limiter that wait for their turn: within what they asked for and the deadline in their Context. */
record Awaiting(LimiterSettings settings, LimiterState state) {

    Mono<Decision> await(String key, RateLimitPolicy policy, long permits, long maxWaitNanos) {
        return Mono.deferContextual(context -> awaitOrEvaluate(
                key, policy, permits, Math.min(maxWaitNanos, untilDeadline(RateLimitContext.deadlineNanos(context)))));
    }

    private Mono<Decision> awaitOrEvaluate(String key, RateLimitPolicy policy, long permits, long waitNanos) {
        return waitNanos <= 0 ? state.evaluate(key, policy, permits) : state.await(key, policy, permits, waitNanos);
    }

    /**
     * Like {@link #await}, where the policy may have to be looked up first: that time counts towards the
     * wait. Who does not want to wait at all, with a {@code maxWait} of zero, does wait for the policy, as
     * in {@link RateLimiter#tryAcquire}: without it there is no answer.
     */
    Mono<Decision> lookUpAndAwait(
            PolicyResolver policies, String name, long permits, Duration maxWait, Consumer<RateLimitPolicy> check) {
        long maxWaitNanos = Nanos.ofWait("maxWait", maxWait);
        return Mono.deferContextual(context -> {
            long arrivedNanos = settings.scheduler().now(TimeUnit.NANOSECONDS);
            long deadline = untilDeadline(RateLimitContext.deadlineNanos(context));
            long within = maxWaitNanos == 0 ? deadline : Math.min(maxWaitNanos, deadline);
            return policyWithin(policies, name, within).flatMap(found -> {
                long left = leftOf(within, arrivedNanos);
                if (found.isEmpty() || (within > 0 && left <= 0)) {
                    return Mono.just(denyUnknown(permits));
                }
                RateLimitPolicy policy = found.get();
                check.accept(policy);
                return permits > policy.capacity()
                        ? Mono.error(new PermitsExceedCapacityException(permits, policy.capacity()))
                        : awaitOrEvaluate(name, policy, permits, Math.min(left, maxWaitNanos));
            });
        });
    }

    private Mono<Optional<RateLimitPolicy>> policyWithin(PolicyResolver policies, String name, long nanos) {
        RateLimitPolicy own = state.ownPolicy(name);
        return own == null ? policies.resolveWithin(name, nanos) : Mono.just(Optional.of(own));
    }

    private long leftOf(long nanos, long sinceNanos) {
        return nanos == LimiterState.UNBOUNDED
                ? nanos
                : nanos - (settings.scheduler().now(TimeUnit.NANOSECONDS) - sinceNanos);
    }

    /** Denied before the key's policy was known. */
    private Decision denyUnknown(long permits) {
        RateLimitPolicy own = state.ruling(settings.policy());
        return Decision.deny(
                own, permits, new Decision.Quota(own.capacity(), 0, Decision.Quota.UNKNOWN), Decision.Quota.UNKNOWN);
    }

    private long untilDeadline(OptionalLong deadlineNanos) {
        if (deadlineNanos.isEmpty() || deadlineNanos.getAsLong() == Long.MAX_VALUE) {
            return LimiterState.UNBOUNDED;
        }
        return deadlineNanos.getAsLong() - settings.scheduler().now(TimeUnit.NANOSECONDS);
    }
}
