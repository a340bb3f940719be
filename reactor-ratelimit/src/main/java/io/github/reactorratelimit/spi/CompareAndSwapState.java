package io.github.reactorratelimit.spi;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.LimiterState;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimitRecorder.Event;
import io.github.reactorratelimit.RateLimiterClosedException;
import io.github.reactorratelimit.Saturated;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.algorithm.Algorithms;
import io.github.reactorratelimit.algorithm.Projection;
import io.github.reactorratelimit.algorithm.Reading;
import io.github.reactorratelimit.algorithm.Tick;
import io.github.reactorratelimit.queue.DecisionQueues;
import io.github.reactorratelimit.queue.QueuedKey;
import io.github.reactorratelimit.queue.RetryingKey;
import io.github.reactorratelimit.queue.RetryingQueue;
import io.github.reactorratelimit.spi.EngineCalls.Result;
import io.github.reactorratelimit.spi.EngineCalls.Step;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** The keys of one limiter on a {@link CompareAndSwapEngine}, and the requests that wait for them in this process. */
final class CompareAndSwapState implements LimiterState {

    /** A retry-after takes at most this many of the requests ahead into account. */
    private static final int MOST_PLACED = 1_000;

    private final LimiterSettings settings;
    private final EngineCalls calls;
    private final DecisionQueues<RetryingKey, RetryingQueue> queues;
    private final HeldLeases leases;

    /** The limiter's policy; made with the first time that the engine tells, which is when initial tokens begin to refill. */
    private volatile @Nullable Algorithm<?> main;

    CompareAndSwapState(LimiterSettings settings, CompareAndSwapEngine engine, Duration deadline) {
        this.settings = settings;
        make(settings.policy(), 0);
        this.calls = new EngineCalls(settings, engine, deadline, this::steps);
        this.queues = RetryingQueue.queues(settings);
        this.leases = new HeldLeases(calls, settings);
    }

    private Algorithm<?> steps(RateLimitPolicy policy, long now) {
        if (!policy.equals(settings.policy())) {
            return make(policy, now);
        }
        Algorithm<?> made = main;
        if (made == null) {
            made = make(policy, now);
            main = made;
        }
        return made;
    }

    /** A concurrency limit is a log of leases: each counts until it is released or a lease's length has passed. */
    private static Algorithm<?> make(RateLimitPolicy policy, long start) {
        RateLimitPolicy kept =
                policy instanceof ConcurrencyLimit limit ? SlidingWindowLog.of(limit.max(), limit.lease()) : policy;
        return Algorithms.of(kept, new Algorithms.Clock(Tick.MICROSECOND, 0, start));
    }

    private RateLimitPolicy inEffect(@Nullable RateLimitPolicy override) {
        return override == null ? settings.policy() : override;
    }

    private KeyValue<?> under(RateLimitPolicy policy, KeyValue<?> seen) {
        return seen.under(steps(policy, seen.now()));
    }

    @Override
    public Mono<Decision> evaluate(String key, @Nullable RateLimitPolicy override, long permits) {
        RateLimitPolicy policy = inEffect(override);
        return unlessClosed(() -> {
            long ahead = waitingPermits(key);
            return ahead > 0 ? look(key, policy, permits, ahead) : take(key, policy, permits);
        });
    }

    @Override
    public Mono<Decision> peek(String key, @Nullable RateLimitPolicy override, long permits) {
        return unlessClosed(() -> look(key, inEffect(override), permits, waitingPermits(key)));
    }

    /** Permits for which requests of this process wait; at least 1 if there is any. */
    private long waitingPermits(String key) {
        RetryingQueue queue = queues.queue(key);
        return queue == null ? 0 : Math.max(1, queue.waitingPermits());
    }

    private Mono<Decision> take(String key, RateLimitPolicy policy, long permits) {
        return calls.command(key, seen -> take(under(policy, seen), seen, key, policy, permits), this::refundUnused);
    }

    private <S> Result<Decision> take(
            KeyValue<S> mine, KeyValue<?> seen, String key, RateLimitPolicy policy, long permits) {
        if (mine.isPaused() || mine.steps().waitTicks(mine.state(), mine.now(), permits) != 0) {
            return new Result<>(seen, look(mine, policy, permits, 0));
        }
        KeyValue<S> next = mine.with(mine.steps().debit(mine.state(), mine.now(), permits));
        Debit debit = new Debit(this, key, policy, permits, mine.now());
        Reading left = next.steps().read(next.state(), next.now(), 0);
        Decision allowed = Decision.allow(named(policy, left), quota(policy, left, left.remaining()), debit);
        return new Result<>(next, allowed, () -> leases.hold(debit));
    }

    private void refundUnused(Decision unused) {
        unused.debit().filter(Debit::claim).ifPresent(this::refundInBackground);
    }

    private void refundInBackground(Debit debit) {
        refund(debit).subscribe();
    }

    /** What the key answers behind the waiters of this process, without taking anything. */
    private Mono<Decision> look(String key, RateLimitPolicy policy, long permits, long ahead) {
        return calls.command(
                key, seen -> new Result<>(seen, look(under(policy, seen), policy, permits, ahead)), done -> {});
    }

    private static <S> Decision look(KeyValue<S> mine, RateLimitPolicy policy, long permits, long waiting) {
        Reading reading = mine.steps().read(mine.state(), mine.now(), permits);
        if (reading.allowed() && !mine.isPaused() && waiting == 0) {
            return Decision.wouldAllow(named(policy, reading), permits, quota(policy, reading, reading.remaining()));
        }
        Projection<S> ahead = Projection.of(mine.steps(), mine.state(), mine.now());
        long left = waiting;
        for (int placed = 0; left > 0 && placed < MOST_PLACED; placed++) {
            long next = Math.min(left, policy.capacity());
            ahead = ahead.place(mine.pausedUntil(), next);
            left -= next;
        }
        boolean isLeased = policy.needsRelease() && !mine.isPaused();
        long grantedAt = isLeased ? Algorithm.UNKNOWN : ahead.preview(mine.pausedUntil(), permits);
        long remaining = reading.allowed() || waiting > 0 ? 0 : reading.remaining();
        long retryAfter = Tick.MICROSECOND.toNanos(QueuedKey.retryAfter(mine.now(), grantedAt));
        return Decision.deny(named(policy, reading), permits, quota(policy, reading, remaining), retryAfter);
    }

    /** The part of the policy that binds. */
    private static RateLimitPolicy named(RateLimitPolicy policy, Reading reading) {
        return policy.needsRelease() ? policy : reading.policy();
    }

    private static Decision.Quota quota(RateLimitPolicy policy, Reading reading, long remaining) {
        boolean isUnknown = policy.needsRelease() && reading.resetTicks() > 0;
        long reset = isUnknown ? Decision.Quota.UNKNOWN : Tick.MICROSECOND.toNanos(reading.resetTicks());
        long more = isUnknown ? Decision.Quota.UNKNOWN : Tick.MICROSECOND.toNanos(reading.moreTicks());
        return new Decision.Quota(reading.limit(), remaining, reset, more);
    }

    @Override
    public Mono<Decision> await(String key, @Nullable RateLimitPolicy override, long permits, long maxWaitNanos) {
        return queues.await(key, new StoredKey(key, inEffect(override)), permits, maxWaitNanos);
    }

    @Override
    public Mono<Void> reset(String key, @Nullable RateLimitPolicy override) {
        return changing(key, seen -> {
            KeyValue<?> fresh = KeyValue.fresh(steps(inEffect(override), seen.now()), seen.now());
            return new Result<>(fresh, true, () -> leases.forget(key));
        });
    }

    /** A refund under a policy that was replaced is lost: what was spent then has been carried over. */
    @Override
    public Mono<Void> refund(Debit debit) {
        Step<Boolean> step = debit.policy().needsRelease() ? leases.release(debit) : seen -> giveBack(seen, debit);
        return calls.command(debit.key(), step, done -> {})
                .onErrorReturn(false)
                .doOnNext(isBack -> {
                    settings.recorder().counted(isBack ? Event.REFUNDED : Event.REFUND_LOST, debit.permits());
                    queues.ifWaiting(debit.key(), RetryingQueue::retryNow);
                })
                .then();
    }

    private static <S> Result<Boolean> giveBack(KeyValue<S> seen, Debit debit) {
        return seen.steps().policy().equals(debit.policy())
                ? new Result<>(
                        seen.with(seen.steps().refund(seen.state(), seen.now(), debit.atTick(), debit.permits())), true)
                : new Result<>(seen, false);
    }

    @Override
    public Mono<Long> charge(String key, @Nullable RateLimitPolicy override, long permits, long maxDebt) {
        RateLimitPolicy policy = inEffect(override);
        return calls.command(key, seen -> charge(under(policy, seen), permits, maxDebt), done -> {});
    }

    private static <S> Result<Long> charge(KeyValue<S> mine, long permits, long maxDebt) {
        long charged = Math.min(permits, mine.steps().chargeable(mine.state(), mine.now(), maxDebt));
        return new Result<>(
                mine.with(mine.steps().charge(mine.state(), mine.now(), permits, maxDebt)), permits - charged);
    }

    @Override
    public Mono<Void> pause(String key, @Nullable RateLimitPolicy override, Duration duration, boolean extendOnly) {
        long micros = micros(duration);
        return changing(key, seen -> {
            long until = micros == 0 ? KeyValue.NOT_PAUSED : seen.now() + micros;
            return new Result<>(seen.withPause(extendOnly ? Math.max(seen.pausedUntil(), until) : until), true);
        });
    }

    /** Rounded up. */
    private static long micros(Duration pause) {
        return TimeUnit.NANOSECONDS.toMicros(Saturated.plus(Saturated.nanos(pause), 999));
    }

    @Override
    public Mono<Void> migrate(String key, @Nullable RateLimitPolicy from, @Nullable RateLimitPolicy to) {
        RateLimitPolicy next = inEffect(to);
        return changing(key, seen -> new Result<>(under(next, seen), true))
                .doOnSuccess(done -> queues.ifWaiting(key, queue -> queue.reschedule(new StoredKey(key, next))));
    }

    private Mono<Void> changing(String key, Step<Boolean> step) {
        return unlessClosed(() -> calls.command(key, step, done -> {}))
                .doOnNext(done -> queues.ifWaiting(key, RetryingQueue::retryNow))
                .then();
    }

    private <T> Mono<T> unlessClosed(Supplier<Mono<T>> answer) {
        return Mono.defer(() ->
                queues.isClosed() ? Mono.<T>error(new RateLimiterClosedException(settings.name())) : answer.get());
    }

    @Override
    public Mono<Void> close() {
        return queues.close();
    }

    @Override
    public boolean isClosed() {
        return queues.isClosed();
    }

    /** One key under one policy, as its queue sees it. */
    private final class StoredKey implements RetryingKey {

        private final String key;
        private final RateLimitPolicy policy;
        private volatile long pausedUntil = Long.MIN_VALUE;

        StoredKey(String key, RateLimitPolicy policy) {
            this.key = key;
            this.policy = policy;
        }

        @Override
        public long now() {
            return calls.now();
        }

        @Override
        public long pausedUntil() {
            return pausedUntil;
        }

        @Override
        public long queueCapacity() {
            return policy.queueCapacity();
        }

        @Override
        public Mono<Decision> request(long permits) {
            Step<Decision> step = seen -> {
                long pauseMicros = seen.isPaused() ? seen.pausedUntil() - seen.now() : 0;
                pausedUntil = Saturated.plus(now(), Tick.MICROSECOND.toNanos(pauseMicros));
                return take(under(policy, seen), seen, key, policy, permits);
            };
            return calls.command(key, step, CompareAndSwapState.this::refundUnused);
        }

        @Override
        public void refund(Debit debit) {
            refundInBackground(debit);
        }

        @Override
        public Decision deny(long now, long permits, long grantedAt) {
            Decision.Quota nothing = new Decision.Quota(policy.capacity(), 0, Decision.Quota.UNKNOWN);
            return Decision.deny(policy, permits, nothing, QueuedKey.retryAfter(now, grantedAt));
        }
    }
}
