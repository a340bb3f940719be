package io.github.reactorratelimit;

import java.time.Duration;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * The limiter in front of a store's state: checks arguments, normalises keys, finds the key's policy,
 * reads the deadline from the Context and counts decisions. All state is the store's.
 */
final class DefaultRateLimiter implements RateLimiter {

    private final LimiterSettings settings;
    private final LimiterState state;
    private final @Nullable PolicyResolver resolver;
    private final RateLimitRecorder recorder;
    private final Awaiting awaiting;
    private final Settling settling;

    private volatile Rule rule;

    /**
     * The policy of keys that have none of their own.
     *
     * @param plainCapacity the most permits that can be had without a release; asking the policy costs more when there
     *     are many kinds
     */
    private record Rule(RateLimitPolicy policy, long plainCapacity) {

        static Rule of(RateLimitPolicy policy) {
            return new Rule(policy, policy instanceof ConcurrencyLimit ? 0 : policy.capacity());
        }
    }

    /** @param maxDebt permits a key may owe when it is charged without asking; one capacity, unless given */
    DefaultRateLimiter(
            LimiterSettings settings, LimiterState state, @Nullable PolicyResolver resolver, OptionalLong maxDebt) {
        this.settings = settings;
        this.state = state;
        this.resolver = resolver;
        this.recorder = settings.recorder();
        this.awaiting = new Awaiting(settings, state);
        this.settling = new Settling(state, recorder, resolver, settings.policy(), maxDebt);
        this.rule = Rule.of(settings.policy());
        state.whenRuledAnew(policy -> rule = Rule.of(policy));
    }

    @Override
    public Mono<Decision> tryAcquire(String key, long permits) {
        if (resolver == null) {
            return tryAcquirePlain(key, rule.policy, permits);
        }
        return plain(key, permits, (name, policy) -> recorded(state.evaluate(name, policy, permits)));
    }

    /** As {@link #plain}, without an object for each step. */
    private Mono<Decision> tryAcquirePlain(String key, RateLimitPolicy policy, long permits) {
        refuseConcurrency(policy);
        Checks.asked(permits);
        String name = Keys.normalise(key);
        RateLimitPolicy named = named(name, policy);
        return permits > named.capacity()
                ? Mono.error(new PermitsExceedCapacityException(permits, named.capacity()))
                : recorded(state.evaluate(name, named, permits));
    }

    @Override
    public boolean tryAcquireNow(String key, long permits) {
        String name = Keys.normalise(key);
        Checks.asked(permits);
        RateLimitPolicy policy = policyNow(name, permits);
        boolean allowed = policy != null && state.tryAcquireNow(name, policy, permits);
        if (allowed) {
            recorder.decided(true, permits);
        }
        return allowed;
    }

    @Override
    public Verdict decideNow(String key, long permits) {
        String name = Keys.normalise(key);
        Checks.asked(permits);
        RateLimitPolicy policy = policyNow(name, permits);
        Verdict verdict = policy == null ? Verdict.UNKNOWN : state.decideNow(name, policy, permits);
        if (verdict != Verdict.UNKNOWN) {
            recorder.decided(verdict == Verdict.TAKEN, permits);
        }
        return verdict;
    }

    /** The policy that the key was given, or else this one. */
    private RateLimitPolicy named(String name, RateLimitPolicy policy) {
        RateLimitPolicy own = state.ownPolicy(name);
        return own == null ? policy : own;
    }

    /** The key's policy; null if it is not known at once, or never gives so many permits. */
    private @Nullable RateLimitPolicy policyNow(String name, long permits) {
        Rule current = rule;
        return resolver == null && permits <= current.plainCapacity ? current.policy : unusualPolicyNow(name, permits);
    }

    private @Nullable RateLimitPolicy unusualPolicyNow(String name, long permits) {
        RateLimitPolicy own = state.ownPolicy(name);
        RateLimitPolicy policy = own != null ? own : resolver == null ? rule.policy : cachedPolicy(resolver, name);
        if (policy == null || permits > policy.capacity()) {
            return null;
        }
        refuseConcurrency(policy);
        return policy;
    }

    private @Nullable RateLimitPolicy cachedPolicy(PolicyResolver policies, String name) {
        RateLimitPolicy cached = policies.cached(name);
        return cached == null ? null : state.ruling(cached);
    }

    /** With a policy per key each element looks for its own, which may change. */
    @Override
    public PermitRun run(String key, long permits) {
        String name = Keys.normalise(key);
        Checks.asked(permits);
        RateLimitPolicy policy = named(name, rule.policy);
        if (resolver != null || policy instanceof ConcurrencyLimit || permits > policy.capacity()) {
            return RateLimiter.super.run(key, permits);
        }
        PermitRun run = state.run(name, policy, permits);
        return recorder == RateLimitRecorder.NOOP ? run : new RecordedRun(run, recorder, permits);
    }

    @Override
    public Mono<Decision> acquire(String key, long permits, Duration maxWait) {
        long maxWaitNanos = Nanos.ofWait("maxWait", maxWait);
        return resolver == null
                ? plain(key, permits, (name, policy) -> await(name, policy, permits, maxWaitNanos))
                : lookUpAndAwait(resolver, key, permits, maxWait, DefaultRateLimiter::refuseConcurrency);
    }

    private Mono<Decision> await(String key, RateLimitPolicy policy, long permits, long maxWaitNanos) {
        return recorded(awaiting.await(key, policy, permits, maxWaitNanos));
    }

    private Mono<Decision> lookUpAndAwait(
            PolicyResolver policies, String key, long permits, Duration maxWait, Consumer<RateLimitPolicy> check) {
        Checks.asked(permits);
        return recorded(awaiting.lookUpAndAwait(policies, Keys.normalise(key), permits, maxWait, check));
    }

    @Override
    public Mono<Decision> peek(String key, long permits) {
        return asking(key, permits, (name, policy) -> state.peek(name, policy, permits));
    }

    @Override
    public Mono<Void> reset(String key) {
        return withPolicy(Keys.normalise(key), state::reset);
    }

    @Override
    public Mono<Void> pause(String key, Duration duration) {
        Nanos.requireWait("duration", duration);
        return withPolicy(Keys.normalise(key), (name, policy) -> state.pause(name, policy, duration));
    }

    @Override
    public Mono<Void> pauseAtLeast(String key, Duration duration) {
        Nanos.requireWait("duration", duration);
        return withPolicy(Keys.normalise(key), (name, policy) -> state.pauseAtLeast(name, policy, duration));
    }

    @Override
    public Mono<Void> refund(Decision decision) {
        Debit debit = decision.debit().orElse(null);
        if (debit == null) {
            return Mono.empty();
        }
        if (!state.owns(debit)) {
            throw new IllegalArgumentException("decision must come from limiter '" + name() + "'");
        }
        return giveBack(debit);
    }

    private Mono<Void> giveBack(Debit debit) {
        return Mono.defer(() -> debit.claim() ? state.refund(debit) : Mono.empty());
    }

    @Override
    public Mono<Lease> acquireLease(String key, long permits, Duration maxWait) {
        long maxWaitNanos = Nanos.ofWait("maxWait", maxWait);
        Mono<Decision> answer = resolver == null
                ? asking(key, permits, (name, policy) -> {
                    requireConcurrency(policy);
                    return await(name, policy, permits, maxWaitNanos);
                })
                : lookUpAndAwait(resolver, key, permits, maxWait, DefaultRateLimiter::requireConcurrency);
        return answer.handle((decision, sink) -> {
            if (decision.allowed()) {
                sink.next(new HeldLease(
                        decision, decision.debit().map(this::giveBack).orElse(Mono.empty())));
            } else {
                sink.error(new RateLimitExceededException(decision));
            }
        });
    }

    @Override
    public Mono<Reservation> reserve(String key, long estimate, Duration maxWait) {
        String name = Keys.normalise(key);
        RateLimitPolicy own = named(name, rule.policy);
        if (resolver == null) {
            Settling.requireSettles(own);
        }
        Mono<Decision> answer = resolver == null
                ? acquire(key, estimate, maxWait)
                : lookUpAndAwait(resolver, key, estimate, maxWait, Settling::requireSettles);
        return answer.handle((decision, sink) -> {
            if (decision.allowed()) {
                sink.next(
                        settling.open(name, decision.debit().map(Debit::policy).orElse(own), decision));
            } else {
                sink.error(new RateLimitExceededException(decision));
            }
        });
    }

    private record HeldLease(Decision decision, Mono<Void> release) implements Lease {}

    @Override
    public <T> Flux<T> use(String key, long permits, Publisher<T> work) {
        if (settings.policy() instanceof ConcurrencyLimit) {
            return Flux.usingWhen(
                    acquireLease(key, permits, Duration.ofNanos(LimiterState.UNBOUNDED)),
                    lease -> work,
                    Lease::release);
        }
        return acquire(key, permits)
                .flatMapMany(
                        decision -> decision.allowed() ? work : Flux.error(new RateLimitExceededException(decision)));
    }

    @Override
    public RateLimitPolicy policy() {
        return rule.policy;
    }

    @Override
    public Mono<Void> changePolicy(RateLimitPolicy policy) {
        boolean released = rule.policy instanceof ConcurrencyLimit;
        if (released != Objects.requireNonNull(policy, "policy") instanceof ConcurrencyLimit) {
            throw new IllegalArgumentException("policy must " + (released ? "" : "not ")
                    + "be a ConcurrencyLimit, like the one before: permits in flight cannot be carried over; was "
                    + policy);
        }
        return state.changePolicy(policy);
    }

    @Override
    public Mono<Void> changePolicy(String key, RateLimitPolicy policy) {
        String name = Keys.normalise(key);
        if (rule.policy instanceof ConcurrencyLimit
                || Objects.requireNonNull(policy, "policy") instanceof ConcurrencyLimit) {
            throw new IllegalArgumentException(
                    "a ConcurrencyLimit cannot differ by key: use a limiter for each; was " + policy);
        }
        return withShared(name, named -> state.changePolicy(name, named, policy));
    }

    @Override
    public Mono<Void> restorePolicy(String key) {
        String name = Keys.normalise(key);
        return withShared(name, named -> state.restorePolicy(name, named));
    }

    /** With the policy that a key has if it was given none. */
    private Mono<Void> withShared(String name, Function<RateLimitPolicy, Mono<Void>> request) {
        return resolver == null
                ? Mono.defer(() -> request.apply(rule.policy))
                : resolver.resolve(name).flatMap(policy -> request.apply(state.ruling(policy)));
    }

    @Override
    public String name() {
        return settings.name();
    }

    @Override
    public Mono<Void> close() {
        return state.close().then(settling.ended());
    }

    @Override
    public boolean isDisposed() {
        return state.isClosed();
    }

    @Override
    public String toString() {
        return "RateLimiter '" + name() + "' of " + policy();
    }

    private interface Request<T> {
        Mono<T> ask(String key, RateLimitPolicy policy);
    }

    /** A request that needs no release. */
    private Mono<Decision> plain(String key, long permits, Request<Decision> request) {
        if (resolver == null) {
            refuseConcurrency(rule.policy);
        }
        return asking(key, permits, (name, policy) -> {
            refuseConcurrency(policy);
            return request.ask(name, policy);
        });
    }

    private Mono<Decision> asking(String key, long permits, Request<Decision> request) {
        Checks.asked(permits);
        return withPolicy(
                Keys.normalise(key),
                (name, policy) -> permits > policy.capacity()
                        ? Mono.error(new PermitsExceedCapacityException(permits, policy.capacity()))
                        : request.ask(name, policy));
    }

    private <T> Mono<T> withPolicy(String key, Request<T> request) {
        return resolver == null ? request.ask(key, named(key, rule.policy)) : lookUp(resolver, key, request);
    }

    private <T> Mono<T> lookUp(PolicyResolver policies, String key, Request<T> request) {
        return Mono.defer(() -> {
            RateLimitPolicy own = state.ownPolicy(key);
            return own != null
                    ? request.ask(key, own)
                    : policies.resolve(key).flatMap(policy -> request.ask(key, named(key, state.ruling(policy))));
        });
    }

    LimiterState state() {
        return state;
    }

    /** What {@link #tryAcquire} would ask of the state; empty if that would fail. */
    Mono<JointState.Take> jointTake(String key, long permits) {
        return withPolicy(
                Keys.normalise(key),
                (name, policy) -> policy instanceof ConcurrencyLimit || permits > policy.capacity()
                        ? Mono.empty()
                        : Mono.just(new JointState.Take(state, name, policy, permits)));
    }

    void record(Decision decision) {
        recorder.decided(decision.allowed(), decision.permits());
    }

    private Mono<Decision> recorded(Mono<Decision> request) {
        return recorder == RateLimitRecorder.NOOP
                ? request
                : request.doOnNext(decision -> recorder.decided(decision.allowed(), decision.permits()));
    }

    private static void refuseConcurrency(RateLimitPolicy policy) {
        if (policy instanceof ConcurrencyLimit) {
            throw new IllegalStateException("a ConcurrencyLimit needs a release: use acquireLease(…), use(…) or the"
                    + " limitRate operator instead of acquire");
        }
    }

    private static void requireConcurrency(RateLimitPolicy policy) {
        if (!(policy instanceof ConcurrencyLimit)) {
            throw new IllegalStateException("acquireLease needs a ConcurrencyLimit, whose permits come back by release;"
                    + " use acquire(…) with " + policy);
        }
    }
}
