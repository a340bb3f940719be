package io.github.reactorratelimit;

import io.github.reactorratelimit.local.LocalStore;
import java.time.Duration;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/**
 * Builds a {@link RateLimiter}. Contradictions are refused when they are made.
 *
 * <pre>{@code
 * RateLimiter limiter = RateLimiter.builder(TokenBucket.perSecond(50))
 *         .name("orders")
 *         .store(store)
 *         .recorder(MicrometerRecorder.create(registry, "orders"))
 *         .build();
 * }</pre>
 */
public final class RateLimiterBuilder {

    /** The default of {@link #maxWaiters(int)}. */
    public static final int DEFAULT_MAX_WAITERS = 10_000;

    private final RateLimitPolicy policy;
    private String name = "default";
    private @Nullable RateLimitStore store;
    private @Nullable Scheduler scheduler;
    private RateLimitRecorder recorder = RateLimitRecorder.NOOP;
    private int maxWaiters = DEFAULT_MAX_WAITERS;
    private OptionalLong maxDebt = OptionalLong.empty();
    private @Nullable Function<? super String, ? extends Mono<? extends RateLimitPolicy>> policyPerKey;
    private Duration keepPolicies = Duration.ZERO;
    private @Nullable RateLimitPolicy shadow;
    private @Nullable KeyRecorder keyRecorder;

    RateLimiterBuilder(RateLimitPolicy policy) {
        this.policy = Objects.requireNonNull(policy, "policy");
    }

    /** A name for errors and meters. Default: {@code "default"}. */
    public RateLimiterBuilder name(String name) {
        Checks.require(!Objects.requireNonNull(name, "name").isBlank(), "name must not be blank");
        this.name = name;
        return this;
    }

    /** Where the state lives. Default: a new {@link LocalStore}, in this process. */
    public RateLimiterBuilder store(RateLimitStore store) {
        this.store = Objects.requireNonNull(store, "store");
        return this;
    }

    /**
     * The clock, the timer, and where waiters are signalled. Default: the clock and timer are {@link
     * Schedulers#parallel()}, and waiters are signalled on {@link Schedulers#boundedElastic()}, so that a
     * slow subscriber delays only itself. On a scheduler with few threads it may delay other grants.
     */
    public RateLimiterBuilder scheduler(Scheduler scheduler) {
        this.scheduler = Objects.requireNonNull(scheduler, "scheduler");
        return this;
    }

    /** Counts decisions, waits and refunds. Default: none. */
    public RateLimiterBuilder recorder(RateLimitRecorder recorder) {
        this.recorder = Objects.requireNonNull(recorder, "recorder");
        return this;
    }

    /**
     * Requests that may wait for one key at a time; one more is denied immediately. A {@link LeakyBucket} is
     * also bounded by its queue capacity.
     */
    public RateLimiterBuilder maxWaiters(int maxWaiters) {
        Checks.require(maxWaiters >= 1, "maxWaiters must be positive, was " + maxWaiters);
        this.maxWaiters = maxWaiters;
        return this;
    }

    /**
     * Permits that a key may owe after {@link Reservation#settle} charged more than it had. Default: its
     * policy's capacity. Permits beyond the maximum are not charged, and a recorder counts them as {@link
     * RateLimitRecorder.Event#UNCHARGED}. 0 charges no more than the key has.
     *
     * @throws IllegalArgumentException if it is negative
     */
    public RateLimiterBuilder maxDebt(long permits) {
        this.maxDebt = OptionalLong.of(Checks.notNegative("maxDebt", permits));
        return this;
    }

    /**
     * A policy per key: tiers, plans from a database. An empty Mono means the limiter's own policy. If the
     * resolver fails or does not answer within 5 seconds, the request fails and takes nothing. The look-up
     * counts towards {@code maxWait} and the deadline: when they have passed, the request is denied. A {@code
     * maxWait} of zero waits for the policy only.
     *
     * <pre>{@code
     * RateLimiter.builder(free).policyPerKey(customer -> plans.of(customer).map(Plan::policy), Duration.ofMinutes(1))
     * }</pre>
     *
     * <p>Concurrent requests for one key share a look-up, made with the Context of the first. Answers are
     * cached for {@code cacheFor}, for at most 100 000 keys. If the policy of a cached key changes, its usage
     * is carried over; for a key that is not cached, it is not. A {@link ConcurrencyLimit} other than the
     * limiter's own policy is refused with an {@link IllegalStateException}: permits in flight cannot be
     * carried over.
     */
    public RateLimiterBuilder policyPerKey(
            Function<? super String, ? extends Mono<? extends RateLimitPolicy>> resolver, Duration cacheFor) {
        this.policyPerKey = Objects.requireNonNull(resolver, "resolver");
        this.keepPolicies = Checks.period("cacheFor", cacheFor);
        return this;
    }

    /**
     * A policy for all keys that only counts what it would have decided, as {@link
     * RateLimitRecorder.Event#SHADOW_ALLOWED} and {@link RateLimitRecorder.Event#SHADOW_DENIED}. It gets
     * every request, also those that the live policy denies, and resets, pauses and refunds. A request that
     * may wait is a {@code tryAcquire} for it, made on arrival; one for more permits than its capacity counts
     * as denied. It never delays, denies or fails a request. Its state is in the same store under the name
     * {@code <name>.shadow}.
     *
     * @throws IllegalArgumentException if it is a {@link ConcurrencyLimit}: how long denied work would have
     *     run is unknown
     */
    public RateLimiterBuilder shadow(RateLimitPolicy policy) {
        if (Objects.requireNonNull(policy, "policy").needsRelease()) {
            throw new IllegalArgumentException("a shadow cannot be a ConcurrencyLimit: it would not know when work"
                    + " ends that the live policy denies; use a separate limiter");
        }
        this.shadow = policy;
        return this;
    }

    /**
     * Gets every decision with its key. {@code HotKeys} is one: it finds the keys that are used most and
     * denied most.
     */
    public RateLimiterBuilder keyRecorder(KeyRecorder keyRecorder) {
        this.keyRecorder = Objects.requireNonNull(keyRecorder, "keyRecorder");
        return this;
    }

    /**
     * Builds the limiter; its clock starts now.
     *
     * @throws IllegalArgumentException if the store cannot hold the policy, or the shadow's, exactly
     * @throws IllegalStateException if there is a shadow, but no recorder that could count for it
     */
    public RateLimiter build() {
        RateLimitStore in = store == null ? LocalStore.create() : store;
        Scheduler clock = scheduler == null ? Schedulers.parallel() : scheduler;
        Scheduler callbacks = scheduler == null ? Schedulers.boundedElastic() : scheduler;
        GuardedRecorder guarded = new GuardedRecorder(recorder, keyRecorder, new AtomicBoolean());
        LimiterSettings settings = new LimiterSettings(
                name, policy, clock, callbacks, guarded.forStore(), maxWaiters, policyPerKey != null);
        DecisionListeners.Shadow beside = shadow == null ? null : shadow(in, settings, shadow);
        LimiterState state;
        try {
            state = in.open(settings);
        } catch (RuntimeException refused) {
            if (beside != null) {
                beside.state().close().subscribe();
            }
            throw refused;
        }
        PolicyLookup policies = new PolicyLookup(settings, state, policyPerKey, keepPolicies);
        return new DefaultRateLimiter(
                settings, state, new DecisionListeners(guarded, beside), policies, maxDebt, scheduler == null);
    }

    private DecisionListeners.Shadow shadow(RateLimitStore in, LimiterSettings live, RateLimitPolicy policy) {
        if (recorder == RateLimitRecorder.NOOP) {
            throw new IllegalStateException("a shadow counts for a recorder: give the limiter one");
        }
        LimiterState state = in.open(new LimiterSettings(
                name + ".shadow",
                policy,
                live.scheduler(),
                live.callbacks(),
                RateLimitRecorder.NOOP,
                maxWaiters,
                true));
        return new DecisionListeners.Shadow(policy, state);
    }
}
