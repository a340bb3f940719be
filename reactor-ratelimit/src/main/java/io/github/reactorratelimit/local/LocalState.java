package io.github.reactorratelimit.local;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.LimiterState;
import io.github.reactorratelimit.PermitsExceedCapacityException;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimitRecorder.Event;
import io.github.reactorratelimit.RateLimiterClosedException;
import io.github.reactorratelimit.Saturated;
import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.algorithm.Algorithms;
import io.github.reactorratelimit.algorithm.Projection;
import io.github.reactorratelimit.algorithm.Reading;
import io.github.reactorratelimit.algorithm.Spending;
import io.github.reactorratelimit.algorithm.Tick;
import io.github.reactorratelimit.queue.ImmediateKey;
import io.github.reactorratelimit.queue.LocalQueues;
import io.github.reactorratelimit.queue.QueuedKey;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;

/** The keys of one limiter in this process: a table for each policy, and the queues with their pauses. */
final class LocalState implements LimiterState {

    private static final AtomicReferenceFieldUpdater<LocalState, PolicyVersion> CURRENT =
            AtomicReferenceFieldUpdater.newUpdater(LocalState.class, PolicyVersion.class, "current");

    private final LimiterSettings settings;
    private final Scheduler scheduler;
    private final long originNanos;
    private final LocalQueues queues;
    private final PolicyTables tables;

    /** The version of the policy in effect, for keys without an override. */
    private volatile PolicyVersion current;

    private volatile Consumer<RateLimitPolicy> onPolicyChange = policy -> {};

    LocalState(LimiterSettings settings, PolicyTables.Kind kind) {
        this.settings = settings;
        this.scheduler = settings.scheduler();
        this.originNanos = scheduler.now(TimeUnit.NANOSECONDS);
        this.queues = new LocalQueues(settings);
        // The only look at the wall clock, for windows that are aligned to the epoch.
        long epochNanos = TimeUnit.MILLISECONDS.toNanos(scheduler.now(TimeUnit.MILLISECONDS));
        Algorithms.Clock clock = new Algorithms.Clock(Tick.NANOSECOND, epochNanos, 0);
        this.tables = new PolicyTables(this, settings.name(), clock, kind, new ConcurrentHashMap<>());
        this.current = tables.first(settings.policy());
    }

    /** The version that decides for a key now. */
    private PolicyVersion version(@Nullable RateLimitPolicy override) {
        return override == null ? current : tables.override(override);
    }

    /** Whether a version still decides for a key: that of an override always does. */
    private boolean isInEffect(PolicyVersion version, @Nullable RateLimitPolicy override) {
        return version == current || override != null;
    }

    @Override
    public @Nullable Decision decideNow(
            String key, @Nullable RateLimitPolicy override, long permits, RequestMode mode) {
        boolean hasWaiters = false;
        if (!queues.isQuiet()) {
            if (queues.isClosed()) {
                return null;
            }
            hasWaiters = queues.hasWaiters(key);
        }
        PolicyVersion seen = version(override);
        if (permits > seen.capacity) {
            return null;
        }
        long pausedUntil = queues.pausedUntil(key);
        long now = now();
        if (hasWaiters || now < pausedUntil) {
            return mode == RequestMode.SPEND_OR_WAIT
                    ? null
                    : new LocalKey(key, override).denyBehindWaiters(now, permits);
        }
        if (queues.mayBeMadeUp(key, now)) {
            // The debit follows a change of the policy by itself.
            Decision late = queues.debitWhenDue(new LocalKey(key, override), now, permits);
            if (late != null) {
                return mode == RequestMode.DEBIT ? late : seen.spent;
            }
        }
        Decision decision = decideNow(seen, key, now, permits, mode);
        boolean isFinal = decision == null || !decision.allowed() || isInEffect(seen, override);
        return isFinal ? decision : decideNow(key, override, permits, mode);
    }

    @Override
    public boolean decidesNow() {
        return true;
    }

    private static @Nullable Decision decideNow(
            PolicyVersion seen, String key, long now, long permits, RequestMode mode) {
        if (mode == RequestMode.SPEND_OR_WAIT) {
            return seen.table.tryTake(key, now, permits) ? seen.spent : null;
        }
        if (mode == RequestMode.SPEND) {
            Decision denial = seen.table.takeOrDeny(key, now, permits);
            return denial == null ? seen.spent : denial;
        }
        return seen.table.debit(seen, seen.policy, key, now, permits);
    }

    @Override
    public boolean owns(Debit debit) {
        return ownerOf(debit) instanceof PolicyVersion version && version.owner == this;
    }

    private static Object ownerOf(Debit debit) {
        return debit.owner() instanceof SketchTable.Mark mark ? mark.owner : debit.owner();
    }

    /** Gives a debit back. False if its policy was replaced: the spend has been carried over. */
    private boolean giveBack(Debit debit) {
        boolean isBack = putBack(debit);
        if (isBack) {
            queues.permitsCameBack(debit.key());
        }
        return isBack;
    }

    /** {@link #giveBack} without rescheduling the waiters. */
    private boolean putBack(Debit debit) {
        PolicyVersion taken = (PolicyVersion) ownerOf(debit);
        // Permits in flight stay in the same table.
        if (taken.table != current.table && !tables.isOverride(taken)) {
            return false;
        }
        return taken.table.refund(debit, this::now);
    }

    /** Nanoseconds of the scheduler's monotonic clock since the limiter was built. */
    private long now() {
        return scheduler.now(TimeUnit.NANOSECONDS) - originNanos;
    }

    @Override
    public Mono<Decision> evaluate(String key, @Nullable RateLimitPolicy override, long permits) {
        return await(key, override, permits, 0);
    }

    @Override
    public Mono<Decision> await(String key, @Nullable RateLimitPolicy override, long permits, long maxWaitNanos) {
        return Mono.defer(() -> {
            long capacity = version(override).capacity;
            // Only if the policy changed since the caller checked.
            return permits > capacity
                    ? Mono.error(new PermitsExceedCapacityException(permits, capacity))
                    : queues.await(new LocalKey(key, override), permits, maxWaitNanos);
        });
    }

    @Override
    public Mono<Decision> peek(String key, @Nullable RateLimitPolicy override, long permits) {
        return answering(() -> new LocalKey(key, override).peek(permits));
    }

    private <T> Mono<T> answering(Supplier<T> answer) {
        return Mono.fromCallable(() -> {
            if (queues.isClosed()) {
                throw new RateLimiterClosedException(settings.name());
            }
            return answer.get();
        });
    }

    private Mono<Void> doing(Runnable action) {
        return answering(() -> {
                    action.run();
                    return true;
                })
                .then();
    }

    @Override
    public Mono<Void> reset(String key, @Nullable RateLimitPolicy override) {
        return doing(() -> {
            PolicyVersion seen;
            do {
                seen = version(override);
                seen.table.reset(key, this::now);
            } while (!isInEffect(seen, override));
            queues.endPause(key);
            queues.reset(new LocalKey(key, override));
        });
    }

    @Override
    public Mono<Void> refund(Debit debit) {
        return Mono.fromRunnable(() -> refundNow(debit));
    }

    @Override
    public boolean refundNow(Debit debit) {
        settings.recorder().counted(giveBack(debit) ? Event.REFUNDED : Event.REFUND_LOST, debit.permits());
        return true;
    }

    @Override
    public Mono<Long> charge(String key, @Nullable RateLimitPolicy override, long permits, long maxDebt) {
        return Mono.fromCallable(() -> {
            long uncharged = overdraw(key, override, permits, maxDebt);
            replan(key, override);
            return uncharged;
        });
    }

    private long overdraw(String key, @Nullable RateLimitPolicy override, long permits, long maxDebt) {
        PolicyVersion seen = version(override);
        long uncharged = seen.table.overdraw(key, now(), permits, maxDebt);
        return isInEffect(seen, override) ? uncharged : overdraw(key, override, permits, maxDebt);
    }

    @Override
    public Mono<Void> pause(String key, @Nullable RateLimitPolicy override, Duration duration, boolean extendOnly) {
        return doing(() -> {
            long now = now();
            queues.pause(key, now, Saturated.plus(now, duration), extendOnly);
            replan(key, override);
        });
    }

    private void replan(String key, @Nullable RateLimitPolicy override) {
        queues.replan(new LocalKey(key, override));
    }

    @Override
    public Mono<Void> migrate(String key, @Nullable RateLimitPolicy from, @Nullable RateLimitPolicy to) {
        return doing(() -> {
            long now = now();
            PolicyVersion next = version(to);
            next.table.reset(key, this::now);
            // A request that still names the policy before finds nothing left.
            List<Spending> spent = version(from).table.spendAll(key, now);
            next.table.overdraw(key, now, Spending.under(next.policy, spent), 0);
            replan(key, to);
        });
    }

    @Override
    public void onPolicyChange(Consumer<RateLimitPolicy> listener) {
        onPolicyChange = listener;
    }

    @Override
    public Mono<Void> changePolicy(RateLimitPolicy to) {
        return doing(() -> {
            PolicyVersion before;
            PolicyVersion next;
            do {
                before = current;
                next = tables.next(before, to, now());
            } while (!CURRENT.compareAndSet(this, before, next));
            if (before.table != next.table) {
                before.table.freeze(now());
            }
            notifyOfPolicy();
            queues.replanAll();
            PolicyVersion migrated = next;
            Migration.start(next.table, scheduler, this::now, () -> current == migrated && !isClosed());
        });
    }

    /** If several threads notify at the same time, the last one notifies of the policy in effect. */
    private void notifyOfPolicy() {
        PolicyVersion seen;
        do {
            seen = current;
            onPolicyChange.accept(seen.policy);
        } while (current != seen);
    }

    @Override
    public Mono<Void> close() {
        return queues.close();
    }

    @Override
    public boolean isClosed() {
        return queues.isClosed();
    }

    /** One key, as its queue sees it. */
    private final class LocalKey implements ImmediateKey {

        private final String key;
        private final @Nullable RateLimitPolicy override;

        LocalKey(String key, @Nullable RateLimitPolicy override) {
            this.key = key;
            this.override = override;
        }

        @Override
        public String key() {
            return key;
        }

        @Override
        public long now() {
            return LocalState.this.now();
        }

        /** Of now: another policy may be in effect at the next step. */
        private PolicyVersion version() {
            return LocalState.this.version(override);
        }

        @Override
        public RateLimitPolicy policy() {
            return version().policy;
        }

        @Override
        public boolean catchesUp() {
            return version().catchesUp;
        }

        @Override
        public long pausedUntil() {
            return queues.pausedUntil(key);
        }

        Decision peek(long permits) {
            long now = now();
            if (queues.mustWait(key, now)) {
                return denyBehindWaiters(now, permits);
            }
            Reading reading = version().table.read(key, now, permits);
            return reading.allowed()
                    ? Decision.wouldAllow(
                            reading.policy(), permits, reading.remaining(), reading.resetTicks(), reading.moreTicks())
                    : KeyTable.denial(reading, permits);
        }

        @Override
        public long waitNanos(long at, long permits) {
            PolicyVersion seen = version();
            return permits > seen.capacity ? Algorithm.UNKNOWN : seen.table.waitTicks(key, at, permits);
        }

        @Override
        public Decision debit(long at, long permits) {
            PolicyVersion seen = version();
            if (permits > seen.capacity) {
                return deny(now(), permits, Algorithm.UNKNOWN);
            }
            Decision decision = seen.table.debit(seen, seen.policy, key, at, permits);
            // The keys may have been carried over without this debit: then it is made again, under the policy in effect
            // now.
            return !decision.allowed() || isInEffect(seen, override) ? decision : debit(at, permits);
        }

        @Override
        public void refund(Debit debit) {
            LocalState.this.giveBack(debit);
        }

        @Override
        public void undo(Debit debit) {
            putBack(debit);
        }

        Decision denyBehindWaiters(long now, long permits) {
            return deny(now, permits, queues.grantedAt(this, now, permits));
        }

        @Override
        public Decision deny(long now, long permits, long grantedAt) {
            Reading reading = version().table.read(key, now, permits);
            long retryAfter = QueuedKey.retryAfter(now, grantedAt);
            return Decision.deny(reading.policy(), permits, 0, reading.resetTicks(), retryAfter);
        }

        @Override
        public Projection<?> projection(long now) {
            return version().table.projection(key, now);
        }
    }
}
