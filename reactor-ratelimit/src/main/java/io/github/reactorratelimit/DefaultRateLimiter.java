package io.github.reactorratelimit;

import java.time.Duration;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
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

    DefaultRateLimiter(LimiterSettings settings, LimiterState state, @Nullable PolicyResolver resolver) {
        this.settings = settings;
        this.state = state;
        this.resolver = resolver;
        this.recorder = settings.recorder();
    }

    @Override
    public Mono<Decision> tryAcquire(String key, long permits) {
        if (resolver == null) {
            return tryAcquirePlain(key, settings.policy(), permits);
        }
        return plain(key, permits, (name, policy) -> recorded(state.evaluate(name, policy, permits)));
    }

    /** As {@link #plain}, without an object for each step. */
    private Mono<Decision> tryAcquirePlain(String key, RateLimitPolicy policy, long permits) {
        refuseConcurrency(policy);
        Checks.asked(permits);
        String name = Keys.normalise(key);
        return permits > policy.capacity()
                ? Mono.error(new PermitsExceedCapacityException(permits, policy.capacity()))
                : recorded(state.evaluate(name, policy, permits));
    }

    @Override
    public boolean tryAcquireNow(String key, long permits) {
        String name = Keys.normalise(key);
        Checks.asked(permits);
        RateLimitPolicy policy = resolver == null ? settings.policy() : resolver.cached(name);
        if (policy == null || permits > policy.capacity()) {
            return false;
        }
        refuseConcurrency(policy);
        boolean allowed = state.tryAcquireNow(name, policy, permits);
        if (allowed) {
            recorder.decided(true, permits);
        }
        return allowed;
    }

    @Override
    public Verdict decideNow(String key, long permits) {
        String name = Keys.normalise(key);
        Checks.asked(permits);
        RateLimitPolicy policy = resolver == null ? settings.policy() : resolver.cached(name);
        if (policy == null || permits > policy.capacity()) {
            return Verdict.UNKNOWN;
        }
        refuseConcurrency(policy);
        Verdict verdict = state.decideNow(name, policy, permits);
        if (verdict != Verdict.UNKNOWN) {
            recorder.decided(verdict == Verdict.TAKEN, permits);
        }
        return verdict;
    }

    /** With a policy per key each element looks for its own, which may change. */
    @Override
    public PermitRun run(String key, long permits) {
        String name = Keys.normalise(key);
        Checks.asked(permits);
        RateLimitPolicy policy = settings.policy();
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
                : lookUpAndAwait(resolver, key, permits, maxWaitNanos, DefaultRateLimiter::refuseConcurrency);
    }

    private Mono<Decision> await(String key, RateLimitPolicy policy, long permits, long maxWaitNanos) {
        return recorded(Mono.deferContextual(context -> awaitOrEvaluate(
                key, policy, permits, Math.min(maxWaitNanos, untilDeadline(RateLimitContext.deadlineNanos(context))))));
    }

    private Mono<Decision> awaitOrEvaluate(String key, RateLimitPolicy policy, long permits, long waitNanos) {
        return waitNanos <= 0 ? state.evaluate(key, policy, permits) : state.await(key, policy, permits, waitNanos);
    }

    /**
     * Like {@link #await}, where the policy may have to be looked up first: that time counts towards the
     * wait. Who does not want to wait at all, with a {@code maxWait} of zero, does wait for the policy, as
     * in {@link #tryAcquire}: without it there is no answer.
     */
    private Mono<Decision> lookUpAndAwait(
            PolicyResolver policies, String key, long permits, long maxWaitNanos, Consumer<RateLimitPolicy> check) {
        Checks.asked(permits);
        String name = Keys.normalise(key);
        return recorded(Mono.deferContextual(context -> {
            long arrivedNanos = settings.scheduler().now(TimeUnit.NANOSECONDS);
            long deadline = untilDeadline(RateLimitContext.deadlineNanos(context));
            long within = maxWaitNanos == 0 ? deadline : Math.min(maxWaitNanos, deadline);
            return policies.resolveWithin(name, within).flatMap(found -> {
                long left = leftOf(within, arrivedNanos);
                if (found.isEmpty() || (within > 0 && left <= 0)) {
                    return Mono.just(denyUnknown(permits));
                }
                RateLimitPolicy policy = found.get();
                check.accept(policy);
                return permits > policy.capacity()
                        ? Mono.error(new PermitsExceedCapacityException(permits, policy.capacity()))
                        : awaitOrEvaluate(name, policy, permits, Math.min(left, maxWaitNanos));
            });
        }));
    }

    private long leftOf(long nanos, long sinceNanos) {
        return nanos == LimiterState.UNBOUNDED
                ? nanos
                : nanos - (settings.scheduler().now(TimeUnit.NANOSECONDS) - sinceNanos);
    }

    /** Denied before the key's policy was known. */
    private Decision denyUnknown(long permits) {
        RateLimitPolicy own = settings.policy();
        return Decision.deny(
                own, permits, new Decision.Quota(own.capacity(), 0, Decision.Quota.UNKNOWN), Decision.Quota.UNKNOWN);
    }

    private long untilDeadline(OptionalLong deadlineNanos) {
        if (deadlineNanos.isEmpty() || deadlineNanos.getAsLong() == Long.MAX_VALUE) {
            return LimiterState.UNBOUNDED;
        }
        return deadlineNanos.getAsLong() - settings.scheduler().now(TimeUnit.NANOSECONDS);
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
    public Mono<Void> refund(Decision decision) {
        Debit debit = decision.debit().orElse(null);
        if (debit == null) {
            return Mono.empty();
        }
        if (debit.owner() != state) {
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
                : lookUpAndAwait(resolver, key, permits, maxWaitNanos, DefaultRateLimiter::requireConcurrency);
        return answer.handle((decision, sink) -> {
            if (decision.allowed()) {
                sink.next(new HeldLease(
                        decision, decision.debit().map(this::giveBack).orElse(Mono.empty())));
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
        return settings.policy();
    }

    @Override
    public String name() {
        return settings.name();
    }

    @Override
    public Mono<Void> close() {
        return state.close();
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
            refuseConcurrency(settings.policy());
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
        return resolver == null
                ? request.ask(key, settings.policy())
                : resolver.resolve(key).flatMap(policy -> request.ask(key, policy));
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
