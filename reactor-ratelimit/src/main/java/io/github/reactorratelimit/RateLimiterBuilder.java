package io.github.reactorratelimit;

import io.github.reactorratelimit.hashing.KeyedHash;
import io.github.reactorratelimit.local.LocalStore;
import java.time.Duration;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/**
 * Builds a {@link RateLimiter}; contradictions are refused at once. The only class of this package
 * that knows where limiters and the default store are made.
 */
public final class RateLimiterBuilder {

    /** Requests that may wait for one key unless {@link #maxWaiters(int)} says otherwise. */
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
    private int auditedKeys;

    RateLimiterBuilder(RateLimitPolicy policy) {
        this.policy = Objects.requireNonNull(policy, "policy");
    }

    /** A name for errors and meters; {@code "default"} unless given. */
    public RateLimiterBuilder name(String name) {
        if (Objects.requireNonNull(name, "name").isBlank()) {
            throw new IllegalArgumentException("name must not be blank");
        }
        this.name = name;
        return this;
    }

    /** Where the state lives; a {@link LocalStore} of its own unless given. */
    public RateLimiterBuilder store(RateLimitStore store) {
        this.store = Objects.requireNonNull(store, "store");
        return this;
    }

    /**
     * Clock, timer, and where those who waited are told. Unless given, the clock and timer are {@link
     * Schedulers#parallel()}, and subscribers are told on {@link Schedulers#boundedElastic()}, which has
     * threads to spare: one that burns time delays itself, not the grants of the others. On a scheduler
     * of your own with few threads it may delay them.
     */
    public RateLimiterBuilder scheduler(Scheduler scheduler) {
        this.scheduler = Objects.requireNonNull(scheduler, "scheduler");
        return this;
    }

    /** Told of every decision, wait and refund. */
    public RateLimiterBuilder recorder(RateLimitRecorder recorder) {
        this.recorder = Objects.requireNonNull(recorder, "recorder");
        return this;
    }

    /**
     * Requests that may wait for one key at a time; one more is denied at once. A {@link LeakyBucket} is
     * also bounded by its own queue.
     */
    public RateLimiterBuilder maxWaiters(int maxWaiters) {
        if (maxWaiters < 1) {
            throw new IllegalArgumentException("maxWaiters must be positive, was " + maxWaiters);
        }
        this.maxWaiters = maxWaiters;
        return this;
    }

    /**
     * Permits a key may owe after {@link Reservation#settle} charged more than it had; as many as its policy's
     * capacity, unless given, and no more than can be counted exactly. What is beyond that is not charged, and {@linkplain
     * RateLimitRecorder#uncharged counted}. 0 charges no more than there is.
     *
     * @throws IllegalArgumentException if it is negative
     */
    public RateLimiterBuilder maxDebt(long permits) {
        this.maxDebt = OptionalLong.of(Checks.notNegative("maxDebt", permits));
        return this;
    }

    /**
     * A policy per key: VIPs, tiers, plans from a database. An empty Mono means the limiter's own policy;
     * an error, or no answer within 5 seconds, fails the request, and nothing is taken. The time it takes
     * counts towards {@code maxWait} and the deadline: when they are over, the request is denied. A {@code
     * maxWait} of zero waits for the policy, and for nothing else.
     *
     * <p>Those who ask for one key at the same time share a look-up, made with the Context of the first.
     * Answers are kept for {@code cacheFor}, for at most 100 000 keys. When the policy of one of these
     * changes, what the key spent is carried over; of a key beyond them, or one that gave way to another
     * after {@code cacheFor}, it is not. A {@link ConcurrencyLimit} other than the limiter's own policy is
     * refused with an {@link IllegalStateException}: permits in flight cannot be carried over.
     */
    public RateLimiterBuilder policyPerKey(
            Function<? super String, ? extends Mono<? extends RateLimitPolicy>> resolver, Duration cacheFor) {
        this.policyPerKey = Objects.requireNonNull(resolver, "resolver");
        this.keepPolicies = Checks.period("cacheFor", cacheFor);
        return this;
    }

    /**
     * A policy beside the live one that only counts what it would have answered, for all keys: {@link
     * RateLimitRecorder#shadowDecided}. Its state is in the same store under the name {@code <name>.shadow}. It gets
     * every request that the live policy gets, also those that one denies, as if it ruled alone; a request that may
     * wait is asked of it on arrival, and not to wait; resets, pauses and refunds are its too. It never
     * delays, denies or fails anything. A request for more permits than its capacity counts as denied.
     *
     * @throws IllegalArgumentException if it is a {@link ConcurrencyLimit}: nobody knows how long work would run that was denied
     */
    public RateLimiterBuilder shadow(RateLimitPolicy policy) {
        if (Objects.requireNonNull(policy, "policy") instanceof ConcurrencyLimit) {
            throw new IllegalArgumentException("a shadow cannot be a ConcurrencyLimit: it would not know when work"
                    + " ends that the live policy denies; use a limiter of its own");
        }
        this.shadow = policy;
        return this;
    }

    /** Told of every decision with its key; see {@code HotKeys} for one that finds the keys most used and most denied. */
    public RateLimiterBuilder keyRecorder(KeyRecorder keyRecorder) {
        this.keyRecorder = Objects.requireNonNull(keyRecorder, "keyRecorder");
        return this;
    }

    /**
     * Lets the limiter judge its own store: of some keys, chosen by hash, every grant and denial is held against what the
     * policy allows, and told to {@link RateLimitRecorder#grantAudited} and {@link RateLimitRecorder#denialAudited}. Off unless
     * given; then nothing is done for it.
     *
     * <p>What it accuses the store of is true, as far as this process can see; it does not see everything:
     *
     * <ul>
     *   <li>An excess is what goes beyond {@code burst + rate * T} in a span {@code T} that begins when the oldest request under way was made and
     *       ends when the last one was answered: long waits make it blind for as much. The burst is the capacity; twice the limit for a fixed window and a
     *       sliding window counter; with stepwise refill one refill more. A thousandth of the time is forgiven for clocks that do not
     *       run alike.
     *   <li>A denial is wrong if the permits must have been there, whatever was under way; what was refunded or cancelled counts as spent. Stepwise
     *       refill is not judged, and nothing in a store that other processes use: it is not known what they spent.
     *   <li>A {@link LeakyBucket} and a {@link ConcurrencyLimit} are not judged at all, nor permits that several limiters gave in one call.
     *   <li>If another process resets a key, what this one is given after that may count as an excess. Leased
     *       permits are judged when they are spent, so that what a lease adds to a burst is an excess.
     * </ul>
     *
     * @param keys how many keys are audited at most; of more that are in use at the same time some, by half and half
     * @throws IllegalArgumentException if it is less than 4
     */
    public RateLimiterBuilder audit(int keys) {
        if (keys < 4) {
            throw new IllegalArgumentException("keys must be at least 4, was " + keys);
        }
        this.auditedKeys = keys;
        return this;
    }

    /**
     * Builds the limiter; its clock starts now.
     *
     * @throws IllegalArgumentException if the store cannot hold the policy, or the shadow's, exactly
     * @throws IllegalStateException if there is a shadow or an audit, but no recorder that could count for it
     */
    public RateLimiter build() {
        if (auditedKeys > 0 && recorder == RateLimitRecorder.NOOP) {
            throw new IllegalStateException("an audit counts for a recorder: give the limiter one");
        }
        RateLimitStore in = store == null ? LocalStore.create() : store;
        Scheduler clock = scheduler == null ? Schedulers.parallel() : scheduler;
        Scheduler callbacks = scheduler == null ? Schedulers.boundedElastic() : scheduler;
        LimiterSettings settings = new LimiterSettings(
                name, policy, clock, callbacks, GuardedRecorder.of(recorder), maxWaiters, policyPerKey != null);
        LimiterState state = observed(in, settings);
        PolicyResolver resolver =
                policyPerKey == null ? null : new PolicyResolver(policyPerKey, keepPolicies, settings, state);
        return new DefaultRateLimiter(settings, state, resolver, maxDebt);
    }

    private LimiterState observed(RateLimitStore in, LimiterSettings settings) {
        LimiterState state = shadow == null ? in.open(settings) : shadowed(in, settings, shadow);
        LimiterState judged = auditedKeys == 0 ? state : audited(state, settings);
        return keyRecorder == null ? judged : new KeyedState(judged, keyRecorder);
    }

    private LimiterState audited(LimiterState state, LimiterSettings settings) {
        return new AuditedState(state, new AuditedKeys(auditedKeys, settings, state, KeyedHash.create()::of));
    }

    private LimiterState shadowed(RateLimitStore in, LimiterSettings live, RateLimitPolicy policy) {
        if (recorder == RateLimitRecorder.NOOP) {
            throw new IllegalStateException("a shadow counts for a recorder: give the limiter one");
        }
        LimiterState beside = in.open(new LimiterSettings(
                name + ".shadow", policy, live.scheduler(), live.callbacks(), RateLimitRecorder.NOOP, maxWaiters));
        try {
            return new ShadowedState(in.open(live), beside, policy, live.recorder());
        } catch (RuntimeException refused) {
            beside.close().subscribe();
            throw refused;
        }
    }
}
