package io.github.reactorratelimit;

import java.time.Duration;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** Requests of a limiter that wait for their turn: within what they asked for and the deadline in their Context. */
record Awaiting(LimiterSettings settings, LimiterState state, DecisionListeners listeners) {

    Mono<Decision> await(String key, @Nullable RateLimitPolicy override, long permits, long maxWaitNanos) {
        return Mono.deferContextual(context -> awaitOrEvaluate(
                key,
                override,
                permits,
                Math.min(maxWaitNanos, untilDeadline(RateLimitContext.deadlineNanos(context)))));
    }

    private Mono<Decision> awaitOrEvaluate(
            String key, @Nullable RateLimitPolicy override, long permits, long waitNanos) {
        return listeners.listen(
                state,
                key,
                permits,
                waitNanos <= 0
                        ? state.evaluate(key, override, permits)
                        : state.await(key, override, permits, waitNanos));
    }

    /**
     * Like {@link #await}, where the policy may have to be looked up first: that time counts towards the
     * wait. Who does not want to wait at all, with a {@code maxWait} of zero, does wait for the policy, as
     * in {@link RateLimiter#tryAcquire}: without it there is no answer.
     */
    Mono<Decision> lookUpAndAwait(
            PolicyLookup policies, String name, long permits, Duration maxWait, Consumer<RateLimitPolicy> check) {
        long maxWaitNanos = Saturated.nanos(Checks.waitTime("maxWait", maxWait));
        return Mono.deferContextual(context -> {
            long arrivedNanos = settings.scheduler().now(TimeUnit.NANOSECONDS);
            long deadline = untilDeadline(RateLimitContext.deadlineNanos(context));
            long within = maxWaitNanos == 0 ? deadline : Math.min(maxWaitNanos, deadline);
            return policies.findWithin(name, within).flatMap(found -> {
                long left = leftOf(within, arrivedNanos);
                if (found.isEmpty() || (within > 0 && left <= 0)) {
                    listeners.decided(name, false, permits);
                    return Mono.just(denyUnknown(policies.ofAll().policy(), permits));
                }
                RateLimitPolicy policy = found.get().policy();
                check.accept(policy);
                return permits > policy.capacity()
                        ? Mono.error(new PermitsExceedCapacityException(permits, policy.capacity()))
                        : awaitOrEvaluate(name, found.get().override(), permits, Math.min(left, maxWaitNanos));
            });
        });
    }

    private long leftOf(long nanos, long sinceNanos) {
        return nanos == LimiterState.UNBOUNDED
                ? nanos
                : nanos - (settings.scheduler().now(TimeUnit.NANOSECONDS) - sinceNanos);
    }

    /** Denied before the key's policy was known. */
    private static Decision denyUnknown(RateLimitPolicy ofAll, long permits) {
        Decision.Quota nothing = new Decision.Quota(ofAll.capacity(), 0, Decision.Quota.UNKNOWN);
        return Decision.deny(ofAll, permits, nothing, Decision.Quota.UNKNOWN);
    }

    private long untilDeadline(OptionalLong deadlineNanos) {
        if (deadlineNanos.isEmpty() || deadlineNanos.getAsLong() == Long.MAX_VALUE) {
            return LimiterState.UNBOUNDED;
        }
        return deadlineNanos.getAsLong() - settings.scheduler().now(TimeUnit.NANOSECONDS);
    }
}
