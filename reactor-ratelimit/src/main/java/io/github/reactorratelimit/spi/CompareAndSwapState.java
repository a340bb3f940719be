package io.github.reactorratelimit.spi;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.LimiterState;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimitRecorder.Event;
import io.github.reactorratelimit.RateLimiterClosedException;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.algorithm.Algorithms;
import io.github.reactorratelimit.algorithm.Projection;
import io.github.reactorratelimit.algorithm.Reading;
import io.github.reactorratelimit.algorithm.Tick;
import io.github.reactorratelimit.queue.Pauses;
import io.github.reactorratelimit.queue.RetryingKey;
import io.github.reactorratelimit.queue.RetryingQueues;
import io.github.reactorratelimit.spi.Command.Result;
import io.github.reactorratelimit.spi.Command.Step;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** The keys of one limiter on a {@link CompareAndSwapEngine}, and those who wait for them in this process. */
final class CompareAndSwapState implements LimiterState {

    private static final long LONGEST_PAUSE_MICROS = Long.MAX_VALUE / 4;

    /** A retry-after takes at most this many of the requests ahead into account. */
    private static final int MOST_PLACED = 1_000;

    private final LimiterSettings settings;
    private final KeyCalls calls;
    private final RetryingQueues queues;
    private final HeldLeases leases;

    /** Permits for which requests of this process wait. */
    private final Map<String, Long> waiting = new ConcurrentHashMap<>();

    /** The limiter's own policy; made with the first time that the engine tells, which is when initial tokens begin to refill. */
    private volatile @Nullable Algorithm<?> main;

    CompareAndSwapState(LimiterSettings settings, CompareAndSwapEngine engine, Duration deadline) {
        this.settings = settings;
        make(settings.policy(), 0);
        this.calls = new KeyCalls(settings, engine, deadline, this::steps);
        this.queues = new RetryingQueues(settings);
        this.leases = new HeldLeases(calls, settings.recorder());
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
        Algorithm<?> steps = steps(policy, seen.now());
        return seen.steps().policy().equals(steps.policy()) ? seen : seen.under(steps);
    }

    /** Only the engine knows. */
    @Override
    public boolean tryAcquireNow(String key, @Nullable RateLimitPolicy override, long permits) {
        return false;
    }

    @Override
    public Mono<Decision> evaluate(String key, @Nullable RateLimitPolicy override, long permits) {
        RateLimitPolicy policy = inEffect(override);
        return unlessClosed(
                () -> queues.hasWaiters(key) ? denyBehindWaiters(key, policy, permits) : take(key, policy, permits));
    }

    private Mono<Decision> take(String key, RateLimitPolicy policy, long permits) {
        return calls.command(key, seen -> take(under(policy, seen), seen, key, policy, permits), this::refundUnused);
    }

    private <S> Result<Decision> take(
            KeyValue<S> mine, KeyValue<?> seen, String key, RateLimitPolicy policy, long permits) {
        if (mine.isPaused() || mine.steps().waitTicks(mine.state(), mine.now(), permits) != 0) {
            return new Result<>(seen, deny(mine, policy, permits, mine.projection()));
        }
        KeyValue<S> next = mine.with(mine.steps().debit(mine.state(), mine.now(), permits));
        Debit debit = new Debit(this, key, policy, permits, mine.now());
        Reading left = next.steps().read(next.state(), next.now(), 0);
        Decision allowed = Decision.allow(named(policy, left), quota(policy, left, left.remaining()), debit);
        return policy instanceof ConcurrencyLimit limit
                ? new Result<>(next, allowed, () -> leases.hold(debit, limit.lease()))
                : new Result<>(next, allowed);
    }

    private void refundUnused(Decision unused) {
        unused.debit().filter(Debit::claim).ifPresent(this::refundNow);
    }

    private void refundNow(Debit debit) {
        refund(debit).subscribe();
    }

    /** Denied behind what {@code ahead} holds, and behind a pause. */
    private static <S> Decision deny(KeyValue<S> mine, RateLimitPolicy policy, long permits, Projection<S> ahead) {
        Reading reading = mine.steps().read(mine.state(), mine.now(), permits);
        boolean isLeased = policy.needsRelease() && !mine.isPaused();
        long grantedAt = isLeased ? Algorithm.UNKNOWN : ahead.preview(mine.pausedUntil(), permits);
        long wait = grantedAt == Algorithm.UNKNOWN ? grantedAt : Math.max(1, grantedAt - mine.now());
        long remaining = reading.allowed() ? 0 : reading.remaining();
        return Decision.deny(
                named(policy, reading), permits, quota(policy, reading, remaining), Tick.MICROSECOND.toNanos(wait));
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
    public Mono<Decision> peek(String key, @Nullable RateLimitPolicy override, long permits) {
        RateLimitPolicy policy = inEffect(override);
        return unlessClosed(() -> queues.hasWaiters(key)
                ? denyBehindWaiters(key, policy, permits)
                : calls.command(
                        key, seen -> new Result<>(seen, look(under(policy, seen), policy, permits)), done -> {}));
    }

    private static <S> Decision look(KeyValue<S> mine, RateLimitPolicy policy, long permits) {
        Reading reading = mine.steps().read(mine.state(), mine.now(), permits);
        return reading.allowed() && !mine.isPaused()
                ? Decision.wouldAllow(named(policy, reading), permits, quota(policy, reading, reading.remaining()))
                : deny(mine, policy, permits, mine.projection());
    }

    private Mono<Decision> denyBehindWaiters(String key, RateLimitPolicy policy, long permits) {
        return calls.command(
                key,
                seen -> new Result<>(seen, denyBehindWaiters(under(policy, seen), key, policy, permits)),
                done -> {});
    }

    private <S> Decision denyBehindWaiters(KeyValue<S> mine, String key, RateLimitPolicy policy, long permits) {
        Projection<S> ahead = mine.projection();
        long left = waiting.getOrDefault(key, 0L);
        for (int placed = 0; left > 0 && placed < MOST_PLACED; placed++) {
            long next = Math.min(left, policy.capacity());
            ahead = ahead.place(mine.pausedUntil(), next);
            left -= next;
        }
        Decision denied = deny(mine, policy, permits, ahead);
        Decision.Quota nothingAtOnce = new Decision.Quota(
                denied.limit(), 0, denied.resetAfter().map(Duration::toNanos).orElse(Decision.Quota.UNKNOWN));
        long retryAfter = denied.retryAfter().map(Duration::toNanos).orElse(Decision.Quota.UNKNOWN);
        return Decision.deny(denied.policy(), permits, nothingAtOnce, retryAfter);
    }

    @Override
    public Mono<Decision> await(String key, @Nullable RateLimitPolicy override, long permits, long maxWaitNanos) {
        RateLimitPolicy policy = inEffect(override);
        return Mono.defer(() -> {
            waiting.merge(key, permits, Long::sum);
            Runnable left = () -> waiting.computeIfPresent(key, (name, sum) -> sum == permits ? null : sum - permits);
            return queues.await(key, new StoredKey(key, policy), permits, maxWaitNanos)
                    .doOnTerminate(left)
                    .doOnCancel(left);
        });
    }

    @Override
    public Mono<Void> reset(String key, @Nullable RateLimitPolicy override) {
        RateLimitPolicy policy = inEffect(override);
        return changing(
                key,
                seen -> new Result<>(
                        KeyValue.fresh(steps(policy, seen.now()), seen.now()), true, () -> leases.forget(key)));
    }

    /** A refund under a policy that was replaced is lost: what was spent then has been carried over. */
    @Override
    public Mono<Void> refund(Debit debit) {
        Step<Boolean> step = debit.policy().needsRelease() ? leases.release(debit) : seen -> giveBack(seen, debit);
        return calls.command(debit.key(), step, done -> {})
                .onErrorReturn(false)
                .doOnNext(isBack -> {
                    settings.recorder().counted(isBack ? Event.REFUNDED : Event.REFUND_LOST, debit.permits());
                    queues.askAgain(debit.key());
                })
                .then();
    }

    private static <S> Result<Boolean> giveBack(KeyValue<S> seen, Debit debit) {
        boolean isSame = seen.steps().policy().equals(debit.policy());
        return new Result<>(
                isSame
                        ? seen.with(seen.steps().refund(seen.state(), seen.now(), debit.atTick(), debit.permits()))
                        : seen,
                isSame);
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
    public Mono<Void> pause(String key, @Nullable RateLimitPolicy override, Duration duration) {
        long micros = micros(duration);
        return changing(
                key,
                seen -> new Result<>(seen.withPause(micros == 0 ? KeyValue.NOT_PAUSED : seen.now() + micros), true));
    }

    @Override
    public Mono<Void> pauseAtLeast(String key, @Nullable RateLimitPolicy override, Duration duration) {
        long micros = micros(duration);
        return changing(
                key,
                seen -> new Result<>(
                        micros == 0 ? seen : seen.withPause(Math.max(seen.pausedUntil(), seen.now() + micros)), true));
    }

    /** Rounded up. */
    private static long micros(Duration pause) {
        boolean fits = pause.compareTo(Duration.of(LONGEST_PAUSE_MICROS, ChronoUnit.MICROS)) < 0;
        return fits
                ? TimeUnit.SECONDS.toMicros(pause.getSeconds()) + (pause.getNano() + 999) / 1_000
                : LONGEST_PAUSE_MICROS;
    }

    @Override
    public Mono<Void> migrate(String key, @Nullable RateLimitPolicy from, @Nullable RateLimitPolicy to) {
        RateLimitPolicy next = inEffect(to);
        return changing(key, seen -> new Result<>(under(next, seen), true))
                .doOnSuccess(done -> queues.replan(key, new StoredKey(key, next)));
    }

    private Mono<Void> changing(String key, Step<Boolean> step) {
        return unlessClosed(() -> calls.command(key, step, done -> {}))
                .doOnNext(done -> queues.askAgain(key))
                .then();
    }

    private <T> Mono<T> unlessClosed(Supplier<Mono<T>> answer) {
        return Mono.defer(() ->
                queues.isClosed() ? Mono.<T>error(new RateLimiterClosedException(settings.name())) : answer.get());
    }

    @Override
    public boolean isShared() {
        return true;
    }

    @Override
    public Mono<Void> close() {
        return queues.close();
    }

    @Override
    public boolean isClosed() {
        return queues.isClosed();
    }

    /** One key under one policy, as its queue sees it: the head asks, and asks again. */
    private final class StoredKey implements RetryingKey {

        private final String key;
        private final RateLimitPolicy policy;
        private volatile long pausedUntil = Pauses.NOT_PAUSED;

        StoredKey(String key, RateLimitPolicy policy) {
            this.key = key;
            this.policy = policy;
        }

        @Override
        public long now() {
            return settings.scheduler().now(TimeUnit.NANOSECONDS);
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
        public Mono<Decision> ask(long permits) {
            return calls.command(
                    key,
                    seen -> {
                        long pause = Tick.MICROSECOND.toNanos(seen.isPaused() ? seen.pausedUntil() - seen.now() : 0);
                        pausedUntil = pause == 0 ? Pauses.NOT_PAUSED : now() + pause;
                        return take(under(policy, seen), seen, key, policy, permits);
                    },
                    CompareAndSwapState.this::refundUnused);
        }

        @Override
        public void refund(Debit debit) {
            refundNow(debit);
        }

        @Override
        public Decision deny(long permits, long retryAfterNanos) {
            Decision.Quota nothing = new Decision.Quota(policy.capacity(), 0, Decision.Quota.UNKNOWN);
            return Decision.deny(policy, permits, nothing, retryAfterNanos);
        }
    }
}
