package io.github.reactorratelimit;

import io.github.reactorratelimit.LimiterState.RequestMode;
import io.github.reactorratelimit.PolicyLookup.KeyPolicy;
import io.github.reactorratelimit.RateLimitRecorder.Event;
import java.time.Duration;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;
import reactor.util.Logger;
import reactor.util.Loggers;
import reactor.util.context.ContextView;

/**
 * The limiter in front of a store's state: checks arguments, normalises keys, finds the key's policy and
 * passes decisions to the listeners. The store keeps all state.
 */
final class DefaultRateLimiter implements RateLimiter, DirectLimiter {

    private static final Logger LOG = Loggers.getLogger(RateLimiter.class);

    private final String name;
    private final Scheduler scheduler;
    private final LimiterState state;
    private final PolicyLookup policies;
    private final DecisionListeners listeners;
    private final boolean listens;
    private final Settling settling;
    private final Use<Decision> decisions;
    private final Use<Lease> leases;
    private final Use<Reservation> reservations;

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
        this.name = settings.name();
        this.scheduler = settings.scheduler();
        this.state = state;
        this.policies = policies;
        this.listeners = listeners;
        this.listens = !listeners.isEmpty();
        this.settling = new Settling(state, listeners, policies, maxDebt, new ConcurrentHashMap<>());
        this.decisions = new Use<>(DefaultRateLimiter::refuseConcurrency, (key, decision) -> decision);
        this.leases = new Use<>(
                DefaultRateLimiter::requireConcurrency,
                granted((key, decision) -> new HeldLease(
                        decision, decision.debit().map(this::giveBack).orElse(Mono.empty()))));
        this.reservations = new Use<>(Settling::requireSettles, granted(settling::open));
    }

    /** Called where a request may wait or be denied: that is where a clock that stands still shows. */
    private void checkScheduler() {
        if (followsDefaultScheduler && Schedulers.parallel() != scheduler) {
            followsDefaultScheduler = false;
            LOG.warn("limiter '" + name() + "' was built with another Schedulers.parallel() than there is now, so its"
                    + " time does not move with virtual time. It was probably built before StepVerifier.withVirtualTime"
                    + " or VirtualTimeScheduler.getOrSet: build it inside, or give it the scheduler with"
                    + " RateLimiter.builder(policy).scheduler(...)");
        }
    }

    @Override
    public Mono<Decision> tryAcquire(String key, long permits) {
        return new Request<>(key, permits, Duration.ZERO, decisions);
    }

    @Override
    public Mono<Decision> acquire(String key, long permits, Duration maxWait) {
        return new Request<>(key, permits, maxWait, decisions);
    }

    @Override
    public Mono<Lease> acquireLease(String key, long permits, Duration maxWait) {
        return new Request<>(key, permits, maxWait, leases);
    }

    @Override
    public Mono<Reservation> reserve(String key, long estimate, Duration maxWait) {
        return new Request<>(key, estimate, maxWait, reservations);
    }

    @Override
    public @Nullable Decision decideNow(String key, long permits, boolean waits) {
        String checked = Keys.normalise(key);
        KeyPolicy policy = policies.now(checked);
        if (policy == null) {
            return null;
        }
        RequestMode rate = waits ? RequestMode.SPEND_OR_WAIT : RequestMode.SPEND;
        return decideNow(checked, policy, permits, policy.needsRelease() ? RequestMode.DEBIT : rate, waits);
    }

    /**
     * The fast path: null if the state cannot decide here, if there is a shadow whose debit must follow this
     * one's, or for a denial if the caller waits.
     */
    private @Nullable Decision decideNow(String key, KeyPolicy policy, long permits, RequestMode mode, boolean waits) {
        if (permits < 1) {
            Checks.asked(permits);
        }
        if (permits > policy.capacity() || (listens && mode == RequestMode.DEBIT && listeners.shadow() != null)) {
            return null;
        }
        Decision decision = state.decideNow(key, policy.override(), permits, mode);
        if (decision == null || !decision.allowed()) {
            checkScheduler();
            if (decision == null || waits) {
                return null;
            }
        }
        if (listens) {
            listeners.decidedNow(key, decision.allowed(), permits);
        }
        return decision;
    }

    @Override
    public Mono<Decision> decideLater(String key, long permits, long maxWaitNanos, ContextView context) {
        return decideLater(Keys.normalise(key), permits, maxWaitNanos, context, decisions);
    }

    /** Waits no longer than the request wants to, and no longer than the deadline in its Context. */
    private Mono<Decision> decideLater(String key, long permits, long maxWaitNanos, ContextView context, Use<?> use) {
        checkScheduler();
        long deadline = untilDeadline(context);
        if (!policies.isPerKey()) {
            return decideLater(policies.ofAll(), key, permits, Math.min(maxWaitNanos, deadline));
        }
        // The time of the look-up counts towards the wait. A request that does not want to wait still waits for
        // its policy, because without it there is no decision.
        long within = maxWaitNanos == 0 ? deadline : Math.min(maxWaitNanos, deadline);
        long arrivedNanos = nowNanos();
        return policies.findWithin(key, within).flatMap(found -> {
            long left = within == LimiterState.UNBOUNDED ? within : within - (nowNanos() - arrivedNanos);
            if (found.isEmpty() || (within > 0 && left <= 0)) {
                listeners.recorder().decided(key, false, permits);
                // Denied before the key's policy was known.
                return Mono.just(Decision.deny(policies.ofAll().policy(), permits, Decision.UNKNOWN));
            }
            use.check.accept(found.get().policy());
            return decideLater(found.get(), key, permits, Math.min(left, maxWaitNanos));
        });
    }

    private Mono<Decision> decideLater(KeyPolicy policy, String key, long permits, long waitNanos) {
        if (permits > policy.capacity()) {
            return Mono.error(new PermitsExceedCapacityException(permits, policy.capacity()));
        }
        RateLimitPolicy override = policy.override();
        Mono<Decision> request = waitNanos <= 0
                ? state.evaluate(key, override, permits)
                : state.await(key, override, permits, waitNanos);
        return listens ? listeners.listen(state, key, permits, request) : request;
    }

    private long untilDeadline(ContextView context) {
        long deadlineNanos = RateLimitContext.deadlineNanos(context).orElse(LimiterState.UNBOUNDED);
        return deadlineNanos == LimiterState.UNBOUNDED ? deadlineNanos : deadlineNanos - nowNanos();
    }

    private long nowNanos() {
        return scheduler.now(TimeUnit.NANOSECONDS);
    }

    @Override
    public void releaseNow(Decision decision) {
        Debit debit = decision.debitOrNull();
        if (debit != null && debit.claim() && !state.refundNow(debit)) {
            state.refund(debit).subscribe();
        }
    }

    /**
     * What permits are requested for.
     *
     * @param check throws if a policy is not for this
     * @param value what the subscriber gets for a decision; may throw what it gets instead
     */
    private record Use<T>(Consumer<RateLimitPolicy> check, BiFunction<String, Decision, T> value) {}

    /** A request for permits of a key. */
    private final class Request<T> extends MonoRequest<Decision, T> {

        private final String key;
        private final long permits;
        private final long maxWaitNanos;
        private final Use<T> use;

        Request(String key, long permits, Duration maxWait, Use<T> use) {
            this.key = Keys.normalise(key);
            this.permits = Checks.asked(permits);
            this.maxWaitNanos = Saturated.nanos(Checks.waitTime("maxWait", maxWait));
            this.use = use;
            if (!policies.isPerKey()) {
                use.check.accept(policies.ofAll().policy());
            }
        }

        @Override
        @Nullable
        Decision decideNow() {
            KeyPolicy policy = policies.now(key);
            if (policy == null) {
                return null;
            }
            if (policies.isPerKey()) {
                use.check.accept(policy.policy());
            }
            return DefaultRateLimiter.this.decideNow(key, policy, permits, RequestMode.DEBIT, maxWaitNanos > 0);
        }

        @Override
        Mono<Decision> decideLater(ContextView context) {
            return DefaultRateLimiter.this.decideLater(key, permits, maxWaitNanos, context, use);
        }

        @Override
        T deliver(Decision decision) {
            return use.value.apply(key, decision);
        }

        @Override
        void undo(Decision decision) {
            refund(decision).subscribe();
        }
    }

    /** A denial is an error. */
    private <T> BiFunction<String, Decision, T> granted(BiFunction<String, Decision, T> value) {
        return (key, decision) -> {
            if (!decision.allowed()) {
                throw new RateLimitExceededException(decision, name);
            }
            return value.apply(key, decision);
        };
    }

    private record HeldLease(Decision decision, Mono<Void> release) implements Lease {}

    @Override
    public Mono<Decision> peek(String key, long permits) {
        Checks.asked(permits);
        String checked = Keys.normalise(key);
        return policies.find(checked)
                .flatMap(policy -> permits > policy.capacity()
                        ? Mono.error(new PermitsExceedCapacityException(permits, policy.capacity()))
                        : state.peek(checked, policy.override(), permits));
    }

    @Override
    public Mono<Void> reset(String key) {
        return change(key, LimiterState::reset);
    }

    @Override
    public Mono<Void> pause(String key, Duration duration) {
        return pause(key, duration, false);
    }

    @Override
    public Mono<Void> pauseAtLeast(String key, Duration duration) {
        return pause(key, duration, true);
    }

    private Mono<Void> pause(String key, Duration duration, boolean extendOnly) {
        Checks.waitTime("duration", duration);
        return change(key, (in, name, override) -> in.pause(name, override, duration, extendOnly));
    }

    private interface Change {
        Mono<Void> of(LimiterState in, String name, @Nullable RateLimitPolicy override);
    }

    /** Changes a key in the state, and in the shadow's. */
    private Mono<Void> change(String key, Change change) {
        String checked = Keys.normalise(key);
        return policies.find(checked)
                .flatMap(policy -> listeners.alongside(
                        change.of(state, checked, policy.override()), shadow -> change.of(shadow, checked, null)));
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
            if (policies.isReplaced(debit)) {
                listeners.recorder().counted(Event.REFUND_LOST, debit.permits());
                return Mono.empty();
            }
            return state.refundNow(debit) ? Mono.empty() : state.refund(debit);
        });
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
        return name;
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
        return state.decidesNow() && !policies.isPerKey() && listeners.shadow() == null;
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
