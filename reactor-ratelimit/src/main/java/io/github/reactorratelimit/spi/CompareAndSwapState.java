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
import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.algorithm.Projection;
import io.github.reactorratelimit.algorithm.Reading;
import io.github.reactorratelimit.algorithm.Tick;
import io.github.reactorratelimit.queue.KeyQueues;
import io.github.reactorratelimit.queue.QueuedKey;
import io.github.reactorratelimit.queue.RetryingKey;
import io.github.reactorratelimit.queue.RetryingQueue;
import io.github.reactorratelimit.spi.EngineCalls.Result;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;

/** The keys of one limiter on a {@link CompareAndSwapEngine}, and the requests that wait for them in this process. */
final class CompareAndSwapState implements LimiterState {

    /** A retry-after takes at most this many of the requests ahead into account. */
    private static final int MOST_PLACED = 1_000;

    private static final int RENEWALS_PER_LEASE = 3;

    private final LimiterSettings settings;
    private final EngineCalls calls;
    private final KeyQueues<RetryingKey, RetryingQueue> queues;
    private final Map<Debit, HeldLease> leases = new ConcurrentHashMap<>();

    CompareAndSwapState(LimiterSettings settings, CompareAndSwapEngine engine, Duration deadline) {
        this.settings = settings;
        this.calls = new EngineCalls(
                settings, engine, deadline, debit -> refund(debit).subscribe());
        this.queues = RetryingQueue.queues(settings);
    }

    @Override
    public Mono<Decision> evaluate(String key, @Nullable RateLimitPolicy override, long permits) {
        StoredKey stored = new StoredKey(key, override);
        return unlessClosed(() -> {
            long ahead = waitingPermits(key);
            return ahead > 0 ? stored.peek(permits, ahead) : stored.request(permits);
        });
    }

    @Override
    public Mono<Decision> peek(String key, @Nullable RateLimitPolicy override, long permits) {
        return unlessClosed(() -> new StoredKey(key, override).peek(permits, waitingPermits(key)));
    }

    /** Permits for which requests of this process wait. */
    private long waitingPermits(String key) {
        RetryingQueue queue = queues.queue(key);
        return queue == null ? 0 : queue.waitingPermits();
    }

    @Override
    public Mono<Decision> await(String key, @Nullable RateLimitPolicy override, long permits, long maxWaitNanos) {
        return queues.await(new StoredKey(key, override), permits, maxWaitNanos);
    }

    @Override
    public Mono<Void> reset(String key, @Nullable RateLimitPolicy override) {
        StoredKey stored = new StoredKey(key, override);
        return changing(key, seen -> KeyValue.fresh(calls.steps(stored.policy, seen.now()), seen.now()))
                .doOnNext(now -> forgetLeases(key, now))
                .then();
    }

    /** A refund under a policy that was replaced is lost: what was spent then has been carried over. */
    @Override
    public Mono<Void> refund(Debit debit) {
        boolean isLease = debit.policy().needsRelease();
        return Mono.fromSupplier(() -> entryOf(debit))
                .flatMap(at -> calls.command(
                        debit.key(),
                        seen -> isLease || seen.steps().policy().equals(debit.policy())
                                ? new Result<>(seen.refund(at, debit.permits()), true)
                                : new Result<>(seen, false)))
                .onErrorReturn(false)
                .doOnNext(isBack -> {
                    settings.recorder().counted(isBack ? Event.REFUNDED : Event.REFUND_LOST, debit.permits());
                    queues.ifWaiting(debit.key(), RetryingQueue::retryNow);
                })
                .then();
    }

    @Override
    public Mono<Long> charge(String key, @Nullable RateLimitPolicy override, long permits, long maxDebt) {
        StoredKey stored = new StoredKey(key, override);
        return calls.command(key, seen -> {
            KeyValue<?> mine = stored.of(seen);
            return new Result<>(mine.charge(permits, maxDebt), Math.max(0, permits - mine.chargeable(maxDebt)));
        });
    }

    @Override
    public Mono<Void> pause(String key, @Nullable RateLimitPolicy override, Duration duration, boolean extendOnly) {
        long micros = TimeUnit.NANOSECONDS.toMicros(Saturated.plus(Saturated.nanos(duration), 999));
        return changing(key, seen -> {
                    long until = micros == 0 ? KeyValue.NOT_PAUSED : seen.now() + micros;
                    return seen.withPause(extendOnly ? Math.max(seen.pausedUntil(), until) : until);
                })
                .then();
    }

    @Override
    public Mono<Void> migrate(String key, @Nullable RateLimitPolicy from, @Nullable RateLimitPolicy to) {
        StoredKey next = new StoredKey(key, to);
        return changing(key, next::of)
                .doOnNext(done -> queues.ifWaiting(key, queue -> queue.reschedule(next)))
                .then();
    }

    /** Changes a key, whose waiters then request again; yields the key's time. */
    private Mono<Long> changing(String key, Function<KeyValue<?>, KeyValue<?>> change) {
        return unlessClosed(() -> calls.command(key, seen -> new Result<>(change.apply(seen), seen.now())))
                .doOnNext(done -> queues.ifWaiting(key, RetryingQueue::retryNow));
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

    /** One key under one policy. */
    private final class StoredKey implements RetryingKey {

        private final String key;
        private final RateLimitPolicy policy;
        private volatile long pausedUntil = Long.MIN_VALUE;

        StoredKey(String key, @Nullable RateLimitPolicy override) {
            this.key = key;
            this.policy = override == null ? settings.policy() : override;
        }

        KeyValue<?> of(KeyValue<?> seen) {
            return seen.under(calls.steps(policy, seen.now()));
        }

        @Override
        public Mono<Decision> request(long permits) {
            return calls.command(key, seen -> take(of(seen), seen, permits))
                    .doOnNext(decision -> decision.debit().ifPresent(this::hold));
        }

        /** Holds a debit if it is a lease. */
        private void hold(Debit debit) {
            if (policy instanceof ConcurrencyLimit limit) {
                leases.put(debit, new HeldLease(debit, limit.lease()));
            }
        }

        private Result<Decision> take(KeyValue<?> mine, KeyValue<?> seen, long permits) {
            long pauseMicros = mine.isPaused() ? mine.pausedUntil() - mine.now() : 0;
            pausedUntil = Saturated.plus(now(), Tick.MICROSECOND.toNanos(pauseMicros));
            if (mine.isPaused() || !mine.read(permits).allowed()) {
                return new Result<>(seen, decision(mine, permits, 0));
            }
            KeyValue<?> next = mine.debit(permits);
            Reading left = next.read(0);
            Debit debit = new Debit(CompareAndSwapState.this, key, policy, permits, mine.now());
            return new Result<>(
                    next, Decision.allow(binding(left), left.remaining(), resetNanos(left), moreNanos(left), debit));
        }

        /** What the key answers behind the waiters of this process, without taking anything. */
        Mono<Decision> peek(long permits, long waiting) {
            return calls.command(key, seen -> new Result<>(seen, decision(of(seen), permits, waiting)));
        }

        private Decision decision(KeyValue<?> mine, long permits, long waiting) {
            Reading reading = mine.read(permits);
            if (reading.allowed() && !mine.isPaused() && waiting == 0) {
                return Decision.wouldAllow(
                        binding(reading), permits, reading.remaining(), resetNanos(reading), moreNanos(reading));
            }
            Projection<?> ahead = mine.projection();
            long left = waiting;
            for (int placed = 0; left > 0 && placed < MOST_PLACED; placed++) {
                ahead = ahead.place(mine.pausedUntil(), Math.min(left, policy.capacity()));
                left -= policy.capacity();
            }
            boolean isLeased = policy.needsRelease() && !mine.isPaused();
            long grantedAt = isLeased ? Algorithm.UNKNOWN : ahead.preview(mine.pausedUntil(), permits);
            long remaining = reading.allowed() || waiting > 0 ? 0 : reading.remaining();
            long retryAfter = Tick.MICROSECOND.toNanos(QueuedKey.retryAfter(mine.now(), grantedAt));
            return Decision.deny(binding(reading), permits, remaining, resetNanos(reading), retryAfter);
        }

        private RateLimitPolicy binding(Reading reading) {
            return policy.needsRelease() ? policy : reading.policy();
        }

        private long resetNanos(Reading reading) {
            return isLeased(reading) ? Decision.UNKNOWN : Tick.MICROSECOND.toNanos(reading.resetTicks());
        }

        private long moreNanos(Reading reading) {
            return isLeased(reading) ? Decision.UNKNOWN : Tick.MICROSECOND.toNanos(reading.moreTicks());
        }

        /** Whether permits come back by a release, at a time that is not known. */
        private boolean isLeased(Reading reading) {
            return policy.needsRelease() && reading.resetTicks() > 0;
        }

        @Override
        public String key() {
            return key;
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
        public void refund(Debit debit) {
            CompareAndSwapState.this.refund(debit).subscribe();
        }

        @Override
        public Decision deny(long now, long permits, long grantedAt) {
            return Decision.deny(policy, permits, QueuedKey.retryAfter(now, grantedAt));
        }
    }

    /** The time of the entry of a debit, which is a lease no longer. */
    private long entryOf(Debit debit) {
        HeldLease lease = leases.remove(debit);
        return lease == null ? debit.atTick() : lease.end();
    }

    /** Holds none of the key's leases any more that were taken before a reset. */
    private void forgetLeases(String key, long resetAt) {
        leases.keySet().stream()
                .filter(debit -> debit.key().equals(key) && debit.atTick() < resetAt)
                .forEach(this::entryOf);
    }

    /**
     * A lease of a concurrency limit that this process holds: an entry in a log whose window is the length of a lease, so it ends by itself
     * if its holder dies. While it is held it moves to the present, three times per length.
     */
    private final class HeldLease {

        private final Debit debit;
        private final Disposable renewals;

        /** The time of its entry. After a renewal with an unknown outcome it may be wrong: then the entry ends by itself. */
        private volatile long at;

        HeldLease(Debit debit, Duration length) {
            this.debit = debit;
            this.at = debit.atTick();
            this.renewals = Mono.delay(length.dividedBy(RENEWALS_PER_LEASE), settings.scheduler())
                    .then(calls.command(debit.key(), this::renew))
                    .doOnNext(Runnable::run)
                    .onErrorComplete(StoreUnavailableException.class)
                    .repeat()
                    .subscribe(renewed -> {}, closed -> {});
        }

        /** An entry that is not there any more expired before it was renewed: the lease may be one too many now. */
        @SuppressWarnings("ReferenceEquality") // a refund that finds nothing returns the value that it was given
        private Result<Runnable> renew(KeyValue<?> seen) {
            KeyValue<?> without = seen.refund(at, debit.permits());
            boolean isLost = without == seen;
            return new Result<>(without.charge(debit.permits(), seen.steps().capacity()), () -> {
                at = seen.now();
                if (isLost) {
                    settings.recorder().counted(Event.LEASE_LOST, debit.permits());
                }
            });
        }

        long end() {
            renewals.dispose();
            return at;
        }
    }
}
