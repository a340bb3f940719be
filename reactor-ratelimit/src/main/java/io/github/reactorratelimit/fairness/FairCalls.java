package io.github.reactorratelimit.fairness;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.DirectLimiter;
import io.github.reactorratelimit.Lease;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.RateLimitContext;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.Reservation;
import io.github.reactorratelimit.Saturated;
import io.github.reactorratelimit.fairness.RequestedPermits.Form;
import io.github.reactorratelimit.queue.KeyQueues;
import io.github.reactorratelimit.queue.QueueRuntime;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;
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

    /**
     * A class of a {@link FairShare} as a limiter.
     *
     * @param alwaysKnown whether there is a rank for every subscriber
     */
    RateLimiter limiter(ToRank ranks, boolean alwaysKnown) {
        return new ClassLimiter(ranks, alwaysKnown);
    }

    private boolean isEmpty() {
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

    private static long checkPermits(long permits) {
        if (permits < 1 || permits > MAX_PERMITS) {
            throw new IllegalArgumentException("permits must be between 1 and 2^40, was " + permits);
        }
        return permits;
    }

    /** Yields what was granted, or a denied decision; or an error, which for a lease or reservation may be a denial. */
    private Mono<Object> await(String tenant, ToRank ranks, RequestedPermits permits, Duration maxWait) {
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
    private boolean hasWeight(String tenant) {
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

    /** A class as a limiter: its keys are the tenants, and all of them share one key of the limiter behind it. */
    private final class ClassLimiter implements RateLimiter, DirectLimiter {

        private final ToRank ranks;
        private final boolean hasFastPath;
        private final DirectLimiter direct = DirectLimiter.of(limiter);

        ClassLimiter(ToRank ranks, boolean alwaysKnown) {
            this.ranks = ranks;
            this.hasFastPath = alwaysKnown && !limiter.policy().needsRelease();
        }

        @Override
        public Mono<Decision> tryAcquire(String tenant, long permits) {
            return acquire(tenant, permits, Duration.ZERO);
        }

        @Override
        public @Nullable Decision decideNow(String tenant, long permits, boolean waits) {
            checkTenant(tenant);
            checkPermits(permits);
            return mayPass(tenant) ? direct.decideNow(key, permits, waits) : null;
        }

        @Override
        public Mono<Decision> decideLater(String tenant, long permits, long maxWaitNanos, ContextView context) {
            return acquire(tenant, permits, Duration.ofNanos(maxWaitNanos));
        }

        /** There are no waiters, and the call would not fail if there were: a wrong class or weight is not found out under load only. */
        private boolean mayPass(String tenant) {
            return hasFastPath && isEmpty() && !isClosed() && hasWeight(tenant);
        }

        @Override
        public Mono<Decision> acquire(String tenant, long permits, Duration maxWait) {
            if (limiter.policy().needsRelease()) {
                throw new IllegalStateException("a ConcurrencyLimit needs a release: use acquireLease(…), use(…) or the"
                        + " limitRate operator instead of acquire");
            }
            return await(tenant, ranks, new RequestedPermits(Form.SPENT, permits), maxWait)
                    .cast(Decision.class);
        }

        @Override
        public Mono<Lease> acquireLease(String tenant, long permits, Duration maxWait) {
            if (!limiter.policy().needsRelease()) {
                throw new IllegalStateException(
                        "acquireLease needs a ConcurrencyLimit, whose permits come back by release;"
                                + " use acquire(…) with " + limiter.policy());
            }
            return await(tenant, ranks, new RequestedPermits(Form.LEASED, permits), maxWait)
                    .cast(Lease.class);
        }

        @Override
        public Mono<Reservation> reserve(String tenant, long estimate, Duration maxWait) {
            if (!limiter.policy().settles()) {
                throw new IllegalStateException("what " + limiter.policy() + " gave out cannot be settled");
            }
            return await(tenant, ranks, new RequestedPermits(Form.RESERVED, estimate), maxWait)
                    .cast(Reservation.class);
        }

        @Override
        public Mono<Decision> peek(String tenant, long permits) {
            checkTenant(tenant);
            return limiter.peek(key, checkPermits(permits));
        }

        @Override
        public Mono<Void> reset(String tenant) {
            checkTenant(tenant);
            return limiter.reset(key);
        }

        @Override
        public Mono<Void> refund(Decision decision) {
            return limiter.refund(decision);
        }

        @Override
        public Mono<Void> pause(String tenant, Duration duration) {
            checkTenant(tenant);
            return limiter.pause(key, duration);
        }

        @Override
        public Mono<Void> pauseAtLeast(String tenant, Duration duration) {
            checkTenant(tenant);
            return limiter.pauseAtLeast(key, duration);
        }

        @Override
        public String sharedKey(String tenant) {
            checkTenant(tenant);
            return direct.sharedKey(key);
        }

        @Override
        public RateLimitPolicy policy() {
            return limiter.policy();
        }

        @Override
        public Mono<Void> changePolicy(RateLimitPolicy policy) {
            return limiter.changePolicy(policy);
        }

        @Override
        public String name() {
            return limiter.name();
        }

        @Override
        public Mono<Void> close() {
            return FairCalls.this.close();
        }

        @Override
        public boolean isDisposed() {
            return isClosed();
        }

        @Override
        public String toString() {
            return "a class of a FairShare of " + limiter;
        }
    }
}
