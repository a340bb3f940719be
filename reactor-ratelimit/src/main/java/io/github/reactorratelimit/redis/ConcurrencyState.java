package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.Decision.Degradation;
import io.github.reactorratelimit.Lease;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.LimiterState;
import io.github.reactorratelimit.RateLimitExceededException;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimitRecorder.Event;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterClosedException;
import io.github.reactorratelimit.Saturated;
import io.github.reactorratelimit.queue.KeyQueues;
import io.github.reactorratelimit.queue.QueuedKey;
import io.github.reactorratelimit.queue.RetryingKey;
import io.github.reactorratelimit.queue.RetryingQueue;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** The keys of a limiter with a {@link ConcurrencyLimit} in Redis, and their waiters in this process. */
final class ConcurrencyState implements LimiterState {

    private final LimiterSettings settings;
    private final ConcurrencyLimit limit;
    private final LimiterCommands commands;
    private final ConcurrencyLeases leases;
    private final FailureFallback fallback;
    private final SignalChannel signals;
    private final KeyQueues<RetryingKey, RetryingQueue> queues;

    /** Leases of the share that this process gives out while Redis is unavailable, by their numbers. */
    private final Map<Long, Lease> leasesOfShare = new ConcurrentHashMap<>();

    /** @throws IllegalArgumentException if the fallback is a share of another kind */
    ConcurrencyState(LimiterSettings settings, StoreOptions options, LimiterCommands commands, SignalChannel signals) {
        if (options.failureMode() instanceof FailureMode.Local local
                && !local.policy().needsRelease()) {
            throw new IllegalArgumentException("share of a ConcurrencyLimit must be one too, was " + local.policy());
        }
        this.settings = settings;
        this.limit = (ConcurrencyLimit) settings.policy();
        this.commands = commands;
        this.signals = signals;
        this.fallback = new FailureFallback(settings, options.failureMode(), commands::pauseLeft);
        this.leases =
                new ConcurrencyLeases(settings, limit, commands, key -> signals.tell(SignalChannel.Kind.FREED, key));
        this.queues = RetryingQueue.queues(settings);
        signals.listen(this::heard, () -> queues.forEachQueue(RetryingQueue::retryNow));
    }

    ConcurrencyLeases leases() {
        return leases;
    }

    private long now() {
        return settings.scheduler().now(TimeUnit.NANOSECONDS);
    }

    @Override
    public Mono<Decision> evaluate(String key, @Nullable RateLimitPolicy override, long permits) {
        Mono<Decision> taken = unlessClosed(
                override, () -> mustWait(key) ? denyBehindWaiters(key, permits) : take(key, permits, false));
        return new MonoUncancelled<>(taken, settings.callbacks(), this::releaseUnused);
    }

    private void releaseUnused(Decision unused) {
        unused.debit().filter(Debit::claim).ifPresent(debit -> release(debit).subscribe(done -> {}, counted -> {}));
    }

    private Mono<Decision> take(String key, long permits, boolean forWaiter) {
        return leases.take(this, key, permits, forWaiter)
                .onErrorResume(RedisUnavailableException.class, unavailable -> takeOfShare(key, permits));
    }

    private Mono<Decision> takeOfShare(String key, long permits) {
        RateLimiter share = fallback.share();
        if (share == null) {
            return fallback.peek(key, limit, permits);
        }
        if (permits > share.policy().capacity()) {
            return denyOfShare(key, permits);
        }
        return share.acquireLease(key, permits, Duration.ZERO)
                .map(lease -> {
                    long number = leases.newNumber();
                    leasesOfShare.put(number, lease);
                    Decision seen = lease.decision();
                    Debit debit = new Debit(this, key, limit, permits, number);
                    return fallback.counted(
                            Decision.allow(seen.policy(), seen.remaining(), Decision.UNKNOWN, Decision.UNKNOWN, debit),
                            Degradation.LOCAL);
                })
                .onErrorResume(RateLimitExceededException.class, none -> denyOfShare(key, permits));
    }

    private Mono<Decision> denyOfShare(String key, long permits) {
        return Mono.fromSupplier(() -> fallback.deny(key, limit, permits, Degradation.LOCAL));
    }

    @Override
    public Mono<Decision> peek(String key, @Nullable RateLimitPolicy override, long permits) {
        return answering(
                override, () -> mustWait(key) ? denyBehindWaiters(key, permits) : peekWithoutWaiters(key, permits));
    }

    private Mono<Decision> peekWithoutWaiters(String key, long permits) {
        return leases.peek(key, permits)
                .onErrorResume(RedisUnavailableException.class, unavailable -> fallback.peek(key, limit, permits));
    }

    private boolean mustWait(String key) {
        return queues.mustWait(key, now());
    }

    /** In a pause, or behind the waiters here: perhaps in vain, because Redis is unavailable. */
    private Mono<Decision> denyBehindWaiters(String key, long permits) {
        long now = now();
        if (now < queues.pausedUntil(key)) {
            long pauseNanos = queues.pausedUntil(key) - now;
            return Mono.fromSupplier(() -> Decision.deny(limit, permits, pauseNanos));
        }
        return peekWithoutWaiters(key, permits).map(seen -> {
            Decision denied = Decision.deny(limit, permits, Decision.UNKNOWN);
            return seen.degradation().map(denied::asDegraded).orElse(denied);
        });
    }

    @Override
    public Mono<Decision> await(String key, @Nullable RateLimitPolicy override, long permits, long maxWaitNanos) {
        return Mono.defer(() -> {
            refuse(override);
            return queues.await(new LeasedKey(key), permits, maxWaitNanos);
        });
    }

    /** On a thread that may run the subscriber's code: the connection's must not. */
    private <T> Mono<T> answering(@Nullable RateLimitPolicy override, Supplier<Mono<T>> answer) {
        return unlessClosed(override, answer).publishOn(settings.callbacks());
    }

    private <T> Mono<T> unlessClosed(@Nullable RateLimitPolicy override, Supplier<Mono<T>> answer) {
        return Mono.defer(() -> {
            refuse(override);
            return queues.isClosed() ? Mono.<T>error(new RateLimiterClosedException(settings.name())) : answer.get();
        });
    }

    private void refuse(@Nullable RateLimitPolicy override) {
        if (override != null && !override.equals(limit)) {
            throw new IllegalStateException("limiter '" + settings.name() + "' has " + limit
                    + " and in Redis every key of it: use another limiter for " + override);
        }
    }

    @Override
    public Mono<Void> reset(String key, @Nullable RateLimitPolicy override) {
        return answering(
                override,
                () -> leases.reset(key).doOnSuccess(done -> {
                    queues.endPause(key);
                    retryNow(key);
                }));
    }

    private void retryNow(String key) {
        queues.ifWaiting(key, RetryingQueue::retryNow);
    }

    @Override
    public Mono<Void> refund(Debit debit) {
        return release(debit).publishOn(settings.callbacks());
    }

    private Mono<Void> release(Debit debit) {
        return Mono.defer(() -> {
                    Lease ofShare = leasesOfShare.remove(debit.atTick());
                    return ofShare == null
                            ? leases.release(debit)
                            : ofShare.release()
                                    .doOnSuccess(done -> settings.recorder().counted(Event.REFUNDED, debit.permits()));
                })
                .doOnSuccess(done -> retryNow(debit.key()));
    }

    /** Holds for this process. */
    @Override
    public Mono<Void> pause(String key, @Nullable RateLimitPolicy override, Duration duration, boolean extendOnly) {
        return answering(
                override,
                () -> Mono.<Void>fromRunnable(() -> {
                    long now = now();
                    queues.pause(key, now, Saturated.plus(now, duration), extendOnly);
                    retryNow(key);
                }));
    }

    /** Every key has the same policy. */
    @Override
    public Mono<Void> migrate(String key, @Nullable RateLimitPolicy from, @Nullable RateLimitPolicy to) {
        return answering(to, Mono::empty);
    }

    /** Leases that are held stay, and are renewed until they are released. */
    @Override
    public Mono<Void> close() {
        return queues.close().then(commands.idle()).then(signals.close());
    }

    @Override
    public boolean isClosed() {
        return queues.isClosed();
    }

    /** Permits that came back in other processes may let waiters here go on. */
    private void heard(SignalChannel.Kind kind, String subject) {
        if (kind == SignalChannel.Kind.FREED) {
            retryNow(subject);
        }
    }

    /** One key, as its queue sees it. */
    private final class LeasedKey implements RetryingKey {

        private final String key;

        LeasedKey(String key) {
            this.key = key;
        }

        @Override
        public String key() {
            return key;
        }

        @Override
        public long now() {
            return ConcurrencyState.this.now();
        }

        @Override
        public long pausedUntil() {
            return queues.pausedUntil(key);
        }

        @Override
        public Mono<Decision> request(long permits) {
            return take(key, permits, true);
        }

        @Override
        public void refund(Debit debit) {
            release(debit).subscribe(done -> {}, counted -> {});
        }

        @Override
        public Decision deny(long now, long permits, long grantedAt) {
            return Decision.deny(limit, permits, QueuedKey.retryAfter(now, grantedAt));
        }
    }
}
