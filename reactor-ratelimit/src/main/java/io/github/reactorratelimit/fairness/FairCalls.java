package io.github.reactorratelimit.fairness;

import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.RateLimitContext;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.Saturated;
import io.github.reactorratelimit.queue.KeyQueues;
import io.github.reactorratelimit.queue.QueueRuntime;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.ToLongFunction;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;
import reactor.util.context.ContextView;

/** The calls of tenants to one key of a limiter, checked and put into its queue. */
final class FairCalls {

    /** The most that one call may request. */
    private static final long MAX_PERMITS = 1L << 40;

    private static final long MAX_WEIGHT = 1_000_000;

    private final RateLimiter limiter;
    private final String key;
    private final ToLongFunction<String> weights;
    private final Scheduler clock;
    private final KeyQueues<FairCall, FairKeyQueue> queues;

    /**
     * @param settings the scheduler and callbacks of the queue
     * @param weights the weight of a tenant
     * @param order which call is next
     * @param ahead how far ahead permits are requested
     */
    FairCalls(
            RateLimiter limiter,
            String key,
            LimiterSettings settings,
            ToLongFunction<String> weights,
            FairQueue order,
            Duration ahead) {
        this.limiter = limiter;
        this.key = key;
        this.weights = weights;
        this.clock = settings.scheduler();
        this.queues = new KeyQueues<>(
                settings, (runtime, first) -> new FairKeyQueue(runtime, first, limiter, order, ahead, this::giveBack));
    }

    /** A store that cannot be reached counts what is lost. */
    private void giveBack(RequestedPermits permits, Object granted) {
        QueueRuntime runtime = queues.runtime();
        runtime.joined();
        permits.giveBack(limiter, granted).subscribe(done -> {}, failed -> runtime.departed(), runtime::departed);
    }

    RateLimiter limiter() {
        return limiter;
    }

    String key() {
        return key;
    }

    boolean isEmpty() {
        return !queues.hasWaiters(key);
    }

    boolean isClosed() {
        return queues.isClosed();
    }

    Mono<Void> close() {
        return queues.close();
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
            long now = clock.now(TimeUnit.NANOSECONDS);
            long notAfter = Math.min(
                    Saturated.plus(now, maxWait),
                    RateLimitContext.deadlineNanos(context).orElse(Long.MAX_VALUE));
            if (notAfter <= now) {
                return atOnce(permits);
            }
            FairCall request = new FairCall(key, clock, this::giveBack, tenant, rank, permits, weight);
            Mono<Object> call = Mono.defer(() -> queues.await(request, permits.permits(), maxWait(notAfter)));
            return permits.permits() > limiter.policy().capacity()
                    ? limiter.peek(key, permits.permits()).then(call)
                    : call;
        });
    }

    private long maxWait(long notAfter) {
        return notAfter == Long.MAX_VALUE ? notAfter : Math.max(0, notAfter - clock.now(TimeUnit.NANOSECONDS));
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
            return Mono.error(queues.runtime().closedException());
        }
        if (isEmpty()) {
            return permits.request(limiter, key, Duration.ZERO).cast(Object.class);
        }
        return limiter.peek(key, permits.permits())
                .map(seen -> seen.allowed()
                        ? permits.deny(limiter, seen.degradation().orElse(null))
                        : permits.denial(limiter, seen))
                .flatMap(denied -> denied instanceof Throwable error ? Mono.error(error) : Mono.just(denied));
    }
}
