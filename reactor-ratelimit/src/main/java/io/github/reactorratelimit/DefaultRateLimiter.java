package io.github.reactorratelimit;

import io.github.reactorratelimit.LimiterState.RequestMode;
import io.github.reactorratelimit.PolicyLookup.KeyPolicy;
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
 * The limiter in front of a store's state: checks arguments, normalises keys, finds the key's policy and
 * passes decisions to the listeners. The store keeps all state.
 */
final class DefaultRateLimiter implements RateLimiter, DirectLimiter {

    private static final Logger LOG = Loggers.getLogger(RateLimiter.class);

    private final LimiterSettings settings;
    private final LimiterState state;
    private final PolicyLookup policies;
    private final DecisionListeners listeners;
    private final Awaiting awaiting;
    private final Settling settling;

    /** Whether to warn once if {@code Schedulers.parallel()} is no longer the one this was built with. */
    private boolean followsDefaultScheduler;

    /**
     * @param maxDebt permits that a key may owe; its policy's capacity if it is empty
     * @param followsDefaultScheduler whether the scheduler is {@code Schedulers.parallel()} because none was
     *     given
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
        this.awaiting = new Awaiting(settings, state, listeners, policies);
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
        Checks.asked(permits);
        if (!policies.isPerKey()) {
            refuseConcurrency(policies.ofAll().policy());
        }
        return new MonoTryAcquire(Keys.normalise(key), permits);
    }

    @Override
    public @Nullable Decision decideNow(String key, long permits, boolean waits) {
        String name = Keys.normalise(key);
        Checks.asked(permits);
        KeyPolicy policy = policies.now(name);
        if (policy == null) {
            return null;
        }
        if (!policy.needsRelease()) {
            return decideNow(name, policy, permits, waits ? RequestMode.SPEND_OR_WAIT : RequestMode.SPEND);
        }
        Decision decision = decideNow(name, policy, permits, RequestMode.DEBIT);
        return decision == null || decision.allowed() || !waits ? decision : null;
    }

    /**
     * The fast path: null if the state cannot decide here, or there is a shadow whose debit must follow this
     * one's.
     */
    private @Nullable Decision decideNow(String name, KeyPolicy policy, long permits, RequestMode mode) {
        boolean debited = mode == RequestMode.DEBIT;
        if (permits > policy.capacity() || (debited && listeners.hasShadow())) {
            return null;
        }
        Decision decision = state.decideNow(name, policy.override(), permits, mode);
        if (decision == null || !decision.allowed()) {
            checkScheduler();
        }
        if (decision != null) {
            listeners.decidedNow(name, decision.allowed(), permits);
        }
        return decision;
    }

    @Override
    public void releaseNow(Decision decision) {
        Debit debit = decision.debitOrNull();
        if (debit != null && debit.claim() && !state.refundNow(debit)) {
            state.refund(debit).subscribe();
        }
    }

    /** {@link #tryAcquire}. */
    private final class MonoTryAcquire extends MonoRequest<Decision, Decision> {

        private final String key;
        private final long permits;

        MonoTryAcquire(String key, long permits) {
            this.key = key;
            this.permits = permits;
        }

        @Override
        @Nullable
        Decision decideNow() {
            KeyPolicy policy = policies.now(key);
            return policy == null || policy.needsRelease()
                    ? null
                    : DefaultRateLimiter.this.decideNow(key, policy, permits, RequestMode.DEBIT);
        }

        @Override
        Mono<Decision> decideLater() {
            return withPolicy(key, permits, DefaultRateLimiter::refuseConcurrency, policy -> {
                checkScheduler();
                return listeners.listen(state, key, permits, state.evaluate(key, policy.override(), permits));
            });
        }

        @Override
        Decision deliver(Decision decision) {
            return decision;
        }

        @Override
        void undo(Decision decision) {
            releaseNow(decision);
        }
    }

    @Override
    public Mono<Decision> acquire(String key, long permits, Duration maxWait) {
        return await(key, permits, maxWait, DefaultRateLimiter::refuseConcurrency);
    }

    /** @param check refuses a policy that is not for this kind of request: now, if the policy is known now */
    private Mono<Decision> await(String key, long permits, Duration maxWait, Consumer<RateLimitPolicy> check) {
        checkScheduler();
        Checks.asked(permits);
        if (!policies.isPerKey()) {
            check.accept(policies.ofAll().policy());
        }
        return awaiting.await(
                Keys.normalise(key), permits, Saturated.nanos(Checks.waitTime("maxWait", maxWait)), check);
    }

    @Override
    public Mono<Decision> peek(String key, long permits) {
        Checks.asked(permits);
        String name = Keys.normalise(key);
        return withPolicy(name, permits, any -> {}, policy -> state.peek(name, policy.override(), permits));
    }

    @Override
    public Mono<Void> reset(String key) {
        return change(key, (in, name, override) -> in.reset(name, override));
    }

    @Override
    public Mono<Void> pause(String key, Duration duration) {
        Checks.waitTime("duration", duration);
        return change(key, (in, name, override) -> in.pause(name, override, duration, false));
    }

    @Override
    public Mono<Void> pauseAtLeast(String key, Duration duration) {
        Checks.waitTime("duration", duration);
        return change(key, (in, name, override) -> in.pause(name, override, duration, true));
    }

    private interface Change {
        Mono<Void> of(LimiterState in, String name, @Nullable RateLimitPolicy override);
    }

    /** Changes a key in the state, and in the shadow's. */
    private Mono<Void> change(String key, Change change) {
        String name = Keys.normalise(key);
        return withPolicy(
                name,
                1,
                any -> {},
                policy -> listeners.alongside(
                        change.of(state, name, policy.override()), shadow -> change.of(shadow, name, null)));
    }

    /** Asks with the key's policy. Fails if that can never grant so many permits, or {@code check} throws. */
    private <T> Mono<T> withPolicy(
            String key, long permits, Consumer<RateLimitPolicy> check, Function<KeyPolicy, Mono<T>> request) {
        KeyPolicy known = policies.isPerKey() ? null : policies.ofAll();
        Function<KeyPolicy, Mono<T>> checked = policy -> {
            check.accept(policy.policy());
            return permits > policy.capacity()
                    ? Mono.error(new PermitsExceedCapacityException(permits, policy.capacity()))
                    : request.apply(policy);
        };
        return known == null ? policies.find(key).flatMap(checked) : checked.apply(known);
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
        return Mono.defer(() -> {
            if (!debit.claim()) {
                return Mono.empty();
            }
            debit.refunded();
            return state.refundNow(debit) ? Mono.empty() : state.refund(debit);
        });
    }

    @Override
    public Mono<Lease> acquireLease(String key, long permits, Duration maxWait) {
        return new MonoGranted<>(
                await(key, permits, maxWait, DefaultRateLimiter::requireConcurrency),
                decision -> new HeldLease(
                        decision, decision.debit().map(this::giveBack).orElse(Mono.empty())));
    }

    private record HeldLease(Decision decision, Mono<Void> release) implements Lease {}

    @Override
    public Mono<Reservation> reserve(String key, long estimate, Duration maxWait) {
        String name = Keys.normalise(key);
        return new MonoGranted<>(
                await(key, estimate, maxWait, Settling::requireSettles), decision -> settling.open(name, decision));
    }

    /** A value for a grant, a {@link RateLimitExceededException} for a denial. */
    private final class MonoGranted<T> extends MonoRequest<Decision, T> {

        private final Mono<Decision> request;
        private final Function<Decision, T> toValue;

        MonoGranted(Mono<Decision> request, Function<Decision, T> toValue) {
            this.request = request;
            this.toValue = toValue;
        }

        @Override
        Mono<Decision> decideLater() {
            return request;
        }

        @Override
        T deliver(Decision decision) {
            if (!decision.allowed()) {
                throw new RateLimitExceededException(decision, settings.name());
            }
            return toValue.apply(decision);
        }

        @Override
        void undo(Decision decision) {
            refund(decision).subscribe();
        }
    }

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
        boolean released = policies.ofAll().needsRelease();
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
                ? policies.refresh(name).map(KeyPolicy::policy)
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

    /** What {@link #tryAcquire} would request of the state; empty if that would fail. */
    Mono<LimiterState.KeyRequest> keyRequest(String key, long permits) {
        String name = Keys.normalise(key);
        return policies.find(name)
                .filter(policy -> !policy.needsRelease() && permits <= policy.capacity())
                .map(policy -> new LimiterState.KeyRequest(state, name, policy.override(), permits));
    }

    /** Whether the fast path decides every {@link #tryAcquire}, while this is open. */
    boolean decidesNow() {
        return state.decidesNow() && !policies.isPerKey() && !listeners.hasShadow();
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
