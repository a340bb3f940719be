package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.LimiterState;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiterClosedException;
import io.github.reactorratelimit.Saturated;
import io.github.reactorratelimit.queue.KeyQueues;
import io.github.reactorratelimit.queue.Pauses;
import io.github.reactorratelimit.queue.QueuedKey;
import io.github.reactorratelimit.queue.RetryingKey;
import io.github.reactorratelimit.queue.RetryingQueue;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** The keys of a limiter with a {@link ConcurrencyLimit} in Redis, and those who wait for them in this process. */
final class ConcurrencyState implements LimiterState {

    private final LimiterSettings settings;
    private final ConcurrencyLimit limit;
    private final Leases leases;
    private final Signals signals;
    private final KeyQueues<RetryingKey, RetryingQueue> lines;
    private final Pauses pauses = new Pauses();

    private ConcurrencyState(LimiterSettings settings, ConcurrencyLimit limit, Leases leases, Signals signals) {
        this.settings = settings;
        this.limit = limit;
        this.leases = leases;
        this.signals = signals;
        this.lines = RetryingQueue.queues(settings);
        signals.listen(new Ear());
    }

    static ConcurrencyState open(
            LimiterSettings settings, StoreOptions options, ConcurrencyCalls calls, Signals signals) {
        ConcurrencyLimit limit = (ConcurrencyLimit) settings.policy();
        if (options.failureMode() instanceof FailureMode.Local local
                && !local.policy().needsRelease()) {
            throw new IllegalArgumentException("share of a ConcurrencyLimit must be one too, was " + local.policy());
        }
        Unavailability unavailability = new Unavailability(settings, options.failureMode(), calls.breaker(), null);
        return new ConcurrencyState(settings, limit, new Leases(settings, limit, calls, unavailability), signals);
    }

    private long now() {
        return settings.scheduler().now(TimeUnit.NANOSECONDS);
    }

    LeaseKeeper keeper() {
        return leases.keeper();
    }

    /** Who leaves before the answer comes gives back what it took. */
    @Override
    public Mono<Decision> evaluate(String key, @Nullable RateLimitPolicy override, long permits) {
        Mono<Decision> asked = unlessClosed(
                override, () -> mustWait(key) ? denyInLine(key, permits) : leases.take(this, key, permits, false));
        return MonoOnce.uncancelled(asked, settings.callbacks(), this::giveBackUnused);
    }

    private void giveBackUnused(Decision unused) {
        unused.debit().filter(Debit::claim).ifPresent(debit -> giveBack(debit).subscribe(done -> {}, counted -> {}));
    }

    @Override
    public Mono<Decision> peek(String key, @Nullable RateLimitPolicy override, long permits) {
        return answering(override, () -> mustWait(key) ? denyInLine(key, permits) : leases.look(key, permits));
    }

    private boolean mustWait(String key) {
        return pauses.isPaused(key, now()) || lines.hasWaiters(key);
    }

    /** In a pause, or behind those who wait here: perhaps in vain, because Redis is away. */
    private Mono<Decision> denyInLine(String key, long permits) {
        long now = now();
        if (pauses.isPaused(key, now)) {
            long pauseNanos = pauses.endOf(key) - now;
            return Mono.fromSupplier(() -> deny(permits, pauseNanos));
        }
        return leases.look(key, permits).map(seen -> {
            Decision denied = deny(permits, Decision.Quota.UNKNOWN);
            return seen.degradation().map(denied::asDegraded).orElse(denied);
        });
    }

    private Decision deny(long permits, long retryAfterNanos) {
        Decision.Quota quota = new Decision.Quota(limit.max(), 0, Decision.Quota.UNKNOWN);
        return Decision.deny(limit, permits, quota, retryAfterNanos);
    }

    @Override
    public Mono<Decision> await(String key, @Nullable RateLimitPolicy override, long permits, long maxWaitNanos) {
        return Mono.defer(() -> {
            refuseOther(override);
            return lines.await(new KeyDesk(key), permits, maxWaitNanos);
        });
    }

    /** On a thread that may run the subscriber's code: the connection's must not. */
    private <T> Mono<T> answering(@Nullable RateLimitPolicy override, Supplier<Mono<T>> answer) {
        return unlessClosed(override, answer).publishOn(settings.callbacks());
    }

    private <T> Mono<T> unlessClosed(@Nullable RateLimitPolicy override, Supplier<Mono<T>> answer) {
        return Mono.defer(() -> {
            refuseOther(override);
            return lines.isClosed() ? Mono.<T>error(new RateLimiterClosedException(settings.name())) : answer.get();
        });
    }

    private void refuseOther(@Nullable RateLimitPolicy override) {
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
                    pauses.end(key);
                    lines.ifWaiting(key, RetryingQueue::retryNow);
                }));
    }

    @Override
    public Mono<Void> refund(Debit debit) {
        return giveBack(debit).publishOn(settings.callbacks());
    }

    private Mono<Void> giveBack(Debit debit) {
        return leases.giveBack(debit).doOnSuccess(done -> lines.ifWaiting(debit.key(), RetryingQueue::retryNow));
    }

    /** Holds for this process. */
    @Override
    public Mono<Void> pause(String key, @Nullable RateLimitPolicy override, Duration duration, boolean extendOnly) {
        return answering(
                override,
                () -> Mono.<Void>fromRunnable(() -> {
                    long now = now();
                    pauses.pause(key, now, Saturated.plus(now, duration), extendOnly);
                    lines.ifWaiting(key, RetryingQueue::retryNow);
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
        return lines.close().then(signals.close());
    }

    @Override
    public boolean isClosed() {
        return lines.isClosed();
    }

    /** What other processes gave back may be somebody's turn here. The script tells them, not this process. */
    private final class Ear implements Signals.Listener {

        @Override
        public void heard(Signals.Kind kind, String subject) {
            if (kind == Signals.Kind.FREED) {
                lines.ifWaiting(subject, RetryingQueue::retryNow);
            }
        }

        @Override
        public void reconnected() {
            lines.forEachQueue(RetryingQueue::retryNow);
        }
    }

    /** One key, as the lines see it. */
    private final class KeyDesk implements RetryingKey {

        private final String key;

        KeyDesk(String key) {
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
            return pauses.endOf(key);
        }

        @Override
        public Mono<Decision> request(long permits) {
            return leases.take(ConcurrencyState.this, key, permits, true);
        }

        @Override
        public void refund(Debit debit) {
            ConcurrencyState.this.giveBack(debit).subscribe(done -> {}, counted -> {});
        }

        @Override
        public Decision deny(long now, long permits, long grantedAt) {
            return ConcurrencyState.this.deny(permits, QueuedKey.retryAfter(now, grantedAt));
        }
    }
}
