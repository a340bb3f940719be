package io.github.reactorratelimit.fairness;

import io.github.reactorratelimit.RateLimitContext;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.Saturated;
import java.time.Duration;
import java.util.Objects;
import java.util.function.ToLongFunction;
import reactor.core.publisher.Mono;
import reactor.util.context.ContextView;

/**
 * The calls of tenants to one key of a limiter, checked and put into its queue.
 *
 * @param weights the weight of a tenant
 */
record FairCalls(RateLimiter limiter, String key, ToLongFunction<String> weights, FairKeyQueue queue) {

    /** The most that one call may request. */
    private static final long MAX_PERMITS = 1L << 40;

    private static final long MAX_WEIGHT = 1_000_000;

    boolean isClosed() {
        return queue.runtime().isClosed();
    }

    static String checkTenant(String tenant) {
        if (Objects.requireNonNull(tenant, "tenant").isEmpty()) {
            throw new IllegalArgumentException("tenant must not be empty");
        }
        return tenant;
    }

    static long checkPermits(long permits) {
        if (permits < 1 || permits > MAX_PERMITS) {
            throw new IllegalArgumentException("permits must be between 1 and 2^40, was " + permits);
        }
        return permits;
    }

    /** Yields what was granted, or a denied decision; or an error, which for a lease or reservation may be a denial. */
    Mono<Object> await(String tenant, ToRank ranks, RequestedPermits permits, Duration maxWait) {
        checkTenant(tenant);
        checkPermits(permits.permits());
        if (Objects.requireNonNull(maxWait, "maxWait").isNegative()) {
            throw new IllegalArgumentException("maxWait must not be negative, was " + maxWait);
        }
        return Mono.deferContextual(context -> {
            int rank = ranks.of(context);
            long weight = weightOf(tenant);
            long now = queue.now();
            long notAfter = Math.min(
                    Saturated.plus(now, maxWait),
                    RateLimitContext.deadlineNanos(context).orElse(Long.MAX_VALUE));
            if (notAfter <= now) {
                return atOnce(permits);
            }
            Mono<Object> call = queue.await(new FairCall.Request(tenant, rank, permits, weight, notAfter));
            return permits.permits() > limiter.policy().capacity()
                    ? limiter.peek(key, permits.permits()).then(call)
                    : call;
        });
    }

    /** The rank of a subscriber's class. */
    interface ToRank {
        int of(ContextView context);
    }

    private long weightOf(String tenant) {
        return checkWeight(weights.applyAsLong(tenant));
    }

    static long checkWeight(long weight) {
        if (weight < 1 || weight > MAX_WEIGHT) {
            throw new IllegalArgumentException("weight must be between 1 and 1 000 000, was " + weight);
        }
        return weight;
    }

    /** Whether a call of the tenant would not fail for its weight. */
    boolean hasWeight(String tenant) {
        try {
            weightOf(tenant);
            return true;
        } catch (RuntimeException failed) {
            return false;
        }
    }

    /** For calls that may not wait: they never overtake. */
    private Mono<Object> atOnce(RequestedPermits permits) {
        if (isClosed()) {
            return Mono.error(queue.runtime().closedException());
        }
        if (queue.isEmpty()) {
            return permits.request(limiter, key, Duration.ZERO).cast(Object.class);
        }
        return limiter.peek(key, permits.permits())
                .map(seen -> seen.allowed()
                        ? permits.deny(limiter, seen.degradation().orElse(null))
                        : permits.denial(limiter, seen))
                .flatMap(denied -> denied instanceof Throwable error ? Mono.error(error) : Mono.just(denied));
    }
}
