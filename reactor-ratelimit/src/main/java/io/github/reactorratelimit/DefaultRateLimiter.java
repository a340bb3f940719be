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
import reactor.core.scheduler.Schedulers;
import reactor.util.Logger;
import reactor.util.Loggers;

/**
 * The limiter in front of a store's state: checks arguments, normalises keys, finds the key's policy,
 * reads the deadline from the Context and counts decisions. All state is the store's.
 */
final class DefaultRateLimiter implements RateLimiter, DirectLimiter {

    private static final Logger LOG = Loggers.getLogger(RateLimiter.class);

    private final LimiterSettings settings;
    private final LimiterState state;
    private final PolicyLookup policies;
    private final DecisionListeners listeners;

    /** Null if requests need more than one step in memory: the store is elsewhere, or there is a shadow. */
    private final MonoTryAcquire.@Nullable Scope immediate;

    private final Awaiting awaiting;
    private final Settling settling;

    /** Whether to warn once if {@code Schedulers.parallel()} is no longer the one this was built with. */
    private boolean followsDefaultScheduler;

    /**
     * @param maxDebt permits a key may owe when it is charged without asking; one capacity, unless given
     * @param followsDefaultScheduler whether the scheduler is {@code Schedulers.parallel()} because none was given
     */
    DefaultRateLimiter(
            LimiterSettings settings,
            LimiterState state,
            DecisionListeners listeners,
            PolicyLookup policies,
            OptionalLong maxDebt,
            boolean followsDefaultScheduler) {
        this.followsDefaultScheduler = followsDefaultScheduler;
        this.settings = settings;
        this.state = state;
        this.policies = policies;
        this.listeners = listeners;
        this.immediate = state instanceof ImmediateState inMemory && !listeners.hasShadow()
                ? new MonoTryAcquire.Scope(inMemory, listeners, this::checkScheduler)
                : null;
        this.awaiting = new Awaiting(settings, state, listeners);
        this.settling = new Settling(state, listeners, policies, maxDebt);
    }

    /** Called where a request may wait or be denied: that is where a clock that stands still shows. */
    private void checkScheduler() {
        if (followsDefaultScheduler && Schedulers.parallel() != settings.scheduler()) {
            followsDefaultScheduler = false;
            LOG.warn("limiter '" + name() + "' was built with another Schedulers.parallel() than there is now, so its"
                    + " time does not move with virtual time. It was probably built before StepVerifier.withVirtualTime"
                    + " or VirtualTimeScheduler.getOrSet: build it inside, or give it the scheduler with"
                    + " RateLimiter.builder(policy).scheduler(...)");
        }
    }

    @Override
    public Mono<Decision> tryAcquire(String key, long permits) {
        if (immediate == null) {
            checkScheduler();
        }
        return policies.isPerKey()
                ? plain(key, permits, (name, policy) -> evaluate(name, policy.override(), permits))
                : tryAcquirePlain(key, policies.ofAll().policy(), permits);
    }

    /** As {@link #plain}, without an object for each step. */
    private Mono<Decision> tryAcquirePlain(String key, RateLimitPolicy policy, long permits) {
        refuseConcurrency(policy);
        Checks.asked(permits);
        String name = Keys.normalise(key);
        return permits > policy.capacity()
                ? Mono.error(new PermitsExceedCapacityException(permits, policy.capacity()))
                : evaluate(name, null, permits);
    }

    private Mono<Decision> evaluate(String name, @Nullable RateLimitPolicy override, long permits) {
        return immediate == null
                ? listeners.listen(state, name, permits, state.evaluate(name, override, permits))
                : new MonoTryAcquire(immediate, name, override, permits);
    }

    @Override
    public Verdict decideNow(String key, long permits, boolean waits) {
        String name = Keys.normalise(key);
        Checks.asked(permits);
        PolicyLookup.KeyPolicy policy = policyNow(name, permits);
        Verdict verdict = policy == null ? Verdict.UNKNOWN : decideNow(name, policy.override(), permits, waits);
        if (verdict != Verdict.UNKNOWN) {
            listeners.decidedForGood(name, verdict == Verdict.TAKEN, permits);
        }
        if (verdict != Verdict.TAKEN) {
            checkScheduler();
        }
        return verdict;
    }

    private Verdict decideNow(String name, @Nullable RateLimitPolicy override, long permits, boolean waits) {
        if (waits) {
            return state.tryAcquireNow(name, override, permits) ? Verdict.TAKEN : Verdict.UNKNOWN;
        }
        return state.decideNow(name, override, permits);
    }

    @Override
    public @Nullable Decision leaseNow(String key, long permits, boolean waits) {
        String name = Keys.normalise(key);
        Checks.asked(permits);
        if (immediate == null
                || policies.isPerKey()
                || permits > policies.ofAll().policy().capacity()) {
            return null;
        }
        Decision decision = immediate.state().evaluateNow(name, null, permits);
        if (!decision.allowed()) {
            checkScheduler();
            if (waits) {
                return null;
            }
        }
        listeners.decided(name, decision.allowed(), permits);
        return decision;
    }

    @Override
    public void releaseNow(Decision decision) {
        Debit debit = decision.debitOrNull();
        if (immediate != null && debit != null && debit.claim()) {
            immediate.state().refundNow(debit);
        }
    }

    /** The key's policy; null if it is not known at once, or never gives so many permits. */
    private PolicyLookup.@Nullable KeyPolicy policyNow(String name, long permits) {
        PolicyLookup.KeyPolicy policy = policies.now(name);
        if (policy == null || permits <= policy.plainCapacity()) {
            return policy;
        }
        if (permits <= policy.policy().capacity()) {
            refuseConcurrency(policy.policy());
        }
        return null;
    }

    @Override
    public Mono<Decision> acquire(String key, long permits, Duration maxWait) {
        checkScheduler();
        long maxWaitNanos = Saturated.nanos(Checks.waitTime("maxWait", maxWait));
        return policies.isPerKey()
                ? lookUpAndAwait(key, permits, maxWait, DefaultRateLimiter::refuseConcurrency)
                : plain(key, permits, (name, policy) -> awaiting.await(name, null, permits, maxWaitNanos));
    }

    private Mono<Decision> lookUpAndAwait(String key, long permits, Duration maxWait, Consumer<RateLimitPolicy> check) {
        Checks.asked(permits);
        return awaiting.lookUpAndAwait(policies, Keys.normalise(key), permits, maxWait, check);
    }

    @Override
    public Mono<Decision> peek(String key, long permits) {
        return asking(key, permits, (name, policy) -> state.peek(name, policy.override(), permits));
    }

    @Override
    public Mono<Void> reset(String key) {
        return withPolicy(
                Keys.normalise(key),
                (name, policy) ->
                        listeners.alongside(state.reset(name, policy.override()), shadow -> shadow.reset(name)));
    }

    @Override
    public Mono<Void> pause(String key, Duration duration) {
        Checks.waitTime("duration", duration);
        return withPolicy(
                Keys.normalise(key),
                (name, policy) -> listeners.alongside(
                        state.pause(name, policy.override(), duration), shadow -> shadow.pause(name, duration)));
    }

    @Override
    public Mono<Void> pauseAtLeast(String key, Duration duration) {
        Checks.waitTime("duration", duration);
        return withPolicy(
                Keys.normalise(key),
                (name, policy) -> listeners.alongside(
                        state.pauseAtLeast(name, policy.override(), duration),
                        shadow -> shadow.pauseAtLeast(name, duration)));
    }

    @Override
    public Mono<Void> refund(Decision decision) {
        Debit debit = decision.debitOrNull();
        if (debit == null) {
            return Mono.empty();
        }
        if (!state.owns(debit)) {
            throw new IllegalArgumentException("decision must come from limiter '" + name() + "'");
        }
        return giveBack(debit);
    }

    private Mono<Void> giveBack(Debit debit) {
        if (immediate != null) {
            ImmediateState inMemory = immediate.state();
            return Mono.fromRunnable(() -> {
                if (debit.claim()) {
                    inMemory.refundNow(debit);
                }
            });
        }
        return Mono.defer(() -> debit.claim()
                ? listeners.alongside(state.refund(debit), shadow -> shadow.refund(debit))
                : Mono.empty());
    }

    @Override
    public Mono<Lease> acquireLease(String key, long permits, Duration maxWait) {
        checkScheduler();
        long maxWaitNanos = Saturated.nanos(Checks.waitTime("maxWait", maxWait));
        Mono<Decision> answer = policies.isPerKey()
                ? lookUpAndAwait(key, permits, maxWait, DefaultRateLimiter::requireConcurrency)
                : asking(key, permits, (name, policy) -> {
                    requireConcurrency(policy.policy());
                    return awaiting.await(name, null, permits, maxWaitNanos);
                });
        return granted(
                answer,
                decision -> new HeldLease(
                        decision, decision.debit().map(this::giveBack).orElse(Mono.empty())));
    }

    @Override
    public Mono<Reservation> reserve(String key, long estimate, Duration maxWait) {
        String name = Keys.normalise(key);
        if (!policies.isPerKey()) {
            Settling.requireSettles(policies.ofAll().policy());
        }
        Mono<Decision> answer = policies.isPerKey()
                ? lookUpAndAwait(key, estimate, maxWait, Settling::requireSettles)
                : acquire(key, estimate, maxWait);
        return granted(answer, decision -> settling.open(name, decision));
    }

    /** A value for a grant, a {@link RateLimitExceededException} for a denial. */
    private <T> Mono<T> granted(Mono<Decision> answer, Function<Decision, T> toValue) {
        return new MonoGranted<>(
                answer, name(), toValue, unused -> refund(unused).subscribe());
    }

    private record HeldLease(Decision decision, Mono<Void> release) implements Lease {}

    @Override
    public <T> Flux<T> use(String key, long permits, Publisher<T> work) {
        if (settings.policy().needsRelease()) {
            return Flux.usingWhen(
                    acquireLease(key, permits, Duration.ofNanos(LimiterState.UNBOUNDED)),
                    lease -> work,
                    Lease::release);
        }
        return acquire(key, permits)
                .flatMapMany(decision ->
                        decision.allowed() ? work : Flux.error(new RateLimitExceededException(decision, name())));
    }

    @Override
    public RateLimitPolicy policy() {
        return policies.ofAll().policy();
    }

    @Override
    public Mono<Void> changePolicy(RateLimitPolicy policy) {
        boolean released = policies.ofAll().policy().needsRelease();
        if (released != Objects.requireNonNull(policy, "policy").needsRelease()) {
            throw new IllegalArgumentException("policy must " + (released ? "" : "not ")
                    + "be a ConcurrencyLimit, like the one before: permits in flight cannot be carried over; was "
                    + policy);
        }
        return state.changePolicy(policy);
    }

    @Override
    public Mono<RateLimitPolicy> refreshPolicy(String key) {
        String name = Keys.normalise(key);
        return policies.isPerKey()
                ? policies.refresh(name).map(PolicyLookup.KeyPolicy::policy)
                : RateLimiter.super.refreshPolicy(name);
    }

    @Override
    public String name() {
        return settings.name();
    }

    @Override
    public Mono<Void> close() {
        return listeners.close(state.close()).then(settling.ended());
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
        Mono<T> ask(String key, PolicyLookup.KeyPolicy policy);
    }

    /** A request that needs no release. */
    private Mono<Decision> plain(String key, long permits, Request<Decision> request) {
        if (!policies.isPerKey()) {
            refuseConcurrency(policies.ofAll().policy());
        }
        return asking(key, permits, (name, policy) -> {
            refuseConcurrency(policy.policy());
            return request.ask(name, policy);
        });
    }

    private Mono<Decision> asking(String key, long permits, Request<Decision> request) {
        Checks.asked(permits);
        return withPolicy(Keys.normalise(key), (name, policy) -> {
            long capacity = policy.policy().capacity();
            return permits > capacity
                    ? Mono.error(new PermitsExceedCapacityException(permits, capacity))
                    : request.ask(name, policy);
        });
    }

    private <T> Mono<T> withPolicy(String key, Request<T> request) {
        return policies.isPerKey()
                ? policies.find(key).flatMap(policy -> request.ask(key, policy))
                : request.ask(key, policies.ofAll());
    }

    LimiterState state() {
        return state;
    }

    /** What {@link #tryAcquire} would ask of the state; empty if that would fail. */
    Mono<JointState.Take> jointTake(String key, long permits) {
        return withPolicy(
                Keys.normalise(key),
                (name, policy) -> permits > policy.plainCapacity()
                        ? Mono.empty()
                        : Mono.just(new JointState.Take(state, name, policy.override(), permits)));
    }

    DecisionListeners listeners() {
        return listeners;
    }

    private static void refuseConcurrency(RateLimitPolicy policy) {
        if (policy.needsRelease()) {
            throw new IllegalStateException("a ConcurrencyLimit needs a release: use acquireLease(…), use(…) or the"
                    + " limitRate operator instead of acquire");
        }
    }

    private static void requireConcurrency(RateLimitPolicy policy) {
        if (!policy.needsRelease()) {
            throw new IllegalStateException("acquireLease needs a ConcurrencyLimit, whose permits come back by release;"
                    + " use acquire(…) with " + policy);
        }
    }
}
