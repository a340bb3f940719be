package io.github.reactorratelimit.local;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.ImmediateState;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.PermitsExceedCapacityException;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimitRecorder.Event;
import io.github.reactorratelimit.RateLimiterClosedException;
import io.github.reactorratelimit.Saturated;
import io.github.reactorratelimit.Verdict;
import io.github.reactorratelimit.algorithm.Spending;
import io.github.reactorratelimit.queue.LocalQueues;
import io.github.reactorratelimit.queue.Pauses;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** The keys of one limiter in this process: a table for each policy, the pauses and the lines. */
final class LocalState implements ImmediateState, LocalDesk.Keys {

    private static final AtomicReferenceFieldUpdater<LocalState, PolicyVersion> CURRENT =
            AtomicReferenceFieldUpdater.newUpdater(LocalState.class, PolicyVersion.class, "current");

    private final LimiterSettings settings;
    private final LocalClock clock;
    private final Pauses pauses = new Pauses();
    private final LocalQueues lines;
    private final PolicyTables tables;

    /** The version of the policy in effect, for keys without an override. */
    private volatile PolicyVersion current;

    private volatile Consumer<RateLimitPolicy> onPolicyChange = policy -> {};

    LocalState(LimiterSettings settings, PolicyTables.Kind kind) {
        this.settings = settings;
        this.clock = new LocalClock(settings.scheduler());
        this.lines = new LocalQueues(settings);
        this.tables = new PolicyTables(this, settings.name(), clock, kind);
        this.current = tables.first(settings.policy());
    }

    @Override
    public PolicyVersion version(@Nullable RateLimitPolicy override) {
        return override == null ? current : tables.override(override);
    }

    @Override
    public boolean isInEffect(PolicyVersion version, @Nullable RateLimitPolicy override) {
        return version == current || override != null;
    }

    @Override
    public boolean tryAcquireNow(String key, @Nullable RateLimitPolicy override, long permits) {
        if (!lines.isQuiet() && (lines.isClosed() || lines.hasWaiters(key))) {
            return false;
        }
        PolicyVersion seen = version(override);
        if (permits > seen.capacity) {
            return false;
        }
        long pausedUntil = pauses.endOf(key);
        long now = clock.now();
        if (now < pausedUntil) {
            return false;
        }
        if (isDebitedWhenDue(key, override, now, permits)) {
            return true;
        }
        boolean taken = seen.table.tryTake(key, now, permits);
        return taken && (isInEffect(seen, override) || tryAcquireNow(key, override, permits));
    }

    @Override
    public Verdict decideNow(String key, @Nullable RateLimitPolicy override, long permits) {
        if (lines.isClosed()) {
            return Verdict.UNKNOWN;
        }
        boolean hasWaiters = !lines.isQuiet() && lines.hasWaiters(key);
        PolicyVersion seen = version(override);
        if (permits > seen.capacity) {
            return Verdict.UNKNOWN;
        }
        long pausedUntil = pauses.endOf(key);
        long now = clock.now();
        if (hasWaiters || now < pausedUntil) {
            return new LocalDesk(this, key, override).denyInLine(now, permits);
        }
        if (isDebitedWhenDue(key, override, now, permits)) {
            return Verdict.TAKEN;
        }
        Decision denial = seen.table.takeOrDeny(key, now, permits);
        if (denial != null) {
            return denial;
        }
        return isInEffect(seen, override) ? Verdict.TAKEN : decideNow(key, override, permits);
    }

    /** See {@link LocalQueues#debitWhenDue}; the debit follows a change of the policy by itself. */
    private boolean isDebitedWhenDue(String key, @Nullable RateLimitPolicy override, long now, long permits) {
        return lines.mayBeMadeUp(key, now)
                && lines.debitWhenDue(key, new LocalDesk(this, key, override), now, permits) != null;
    }

    @Override
    public boolean owns(Debit debit) {
        return ownerOf(debit) instanceof PolicyVersion version && version.owner == this;
    }

    private static Object ownerOf(Debit debit) {
        return debit.owner() instanceof SketchTable.Mark mark ? mark.owner : debit.owner();
    }

    @Override
    public boolean giveBack(Debit debit) {
        boolean isBack = putBack(debit);
        if (isBack) {
            lines.permitsCameBack(debit.key());
        }
        return isBack;
    }

    @Override
    public boolean putBack(Debit debit) {
        PolicyVersion taken = (PolicyVersion) ownerOf(debit);
        // Permits in flight stay in the same table.
        if (taken.table != current.table && !tables.isOverride(taken)) {
            return false;
        }
        return taken.table.refund(debit, clock::now);
    }

    @Override
    public long now() {
        return clock.now();
    }

    @Override
    public long pausedUntil(String key) {
        return pauses.endOf(key);
    }

    @Override
    public boolean mustWait(String key, long now) {
        return pauses.isPaused(key, now) || lines.hasWaiters(key);
    }

    /** See {@link LocalQueues#debit}. */
    @Override
    public Decision debit(String key, LocalDesk desk, long now, long permits) {
        return lines.debit(key, desk, now, permits);
    }

    /** See {@link LocalQueues#grantedAt}. */
    @Override
    public long grantedAt(String key, LocalDesk desk, long now, long permits) {
        return lines.grantedAt(key, desk, now, permits);
    }

    @Override
    public Mono<Decision> evaluate(String key, @Nullable RateLimitPolicy override, long permits) {
        return Mono.defer(() -> {
            LocalDesk desk = new LocalDesk(this, key, override);
            return permits > version(override).capacity
                    ? neverAllowed(override, permits)
                    : lines.atOnce(desk, () -> desk.evaluate(permits));
        });
    }

    @Override
    public Decision evaluateNow(String key, @Nullable RateLimitPolicy override, long permits) {
        if (lines.isClosed()) {
            throw new RateLimiterClosedException(settings.name());
        }
        PolicyVersion seen = version(override);
        if (permits > seen.capacity) {
            throw new PermitsExceedCapacityException(permits, seen.capacity);
        }
        long now = clock.now();
        boolean plain =
                (lines.isQuiet() || !lines.hasWaiters(key)) && now >= pauses.endOf(key) && !lines.mayBeMadeUp(key, now);
        if (plain) {
            Decision decision = seen.table.debit(seen, seen.policy, key, now, permits);
            if (!decision.allowed() || isInEffect(seen, override)) {
                return decision;
            }
        }
        return new LocalDesk(this, key, override).evaluate(permits);
    }

    @Override
    public Mono<Decision> await(String key, @Nullable RateLimitPolicy override, long permits, long maxWaitNanos) {
        return Mono.defer(() -> permits > version(override).capacity
                ? neverAllowed(override, permits)
                : lines.await(key, new LocalDesk(this, key, override), permits, maxWaitNanos));
    }

    /** The policy changed since the caller checked. */
    private Mono<Decision> neverAllowed(@Nullable RateLimitPolicy override, long permits) {
        return Mono.error(new PermitsExceedCapacityException(permits, version(override).capacity));
    }

    @Override
    public Mono<Decision> peek(String key, @Nullable RateLimitPolicy override, long permits) {
        return answering(() -> new LocalDesk(this, key, override).peek(permits));
    }

    private interface Answer<T> {
        T get();
    }

    private <T> Mono<T> answering(Answer<T> answer) {
        return Mono.fromCallable(() -> {
            if (lines.isClosed()) {
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
                seen.table.reset(key, clock::now);
            } while (!isInEffect(seen, override));
            pauses.end(key);
            lines.reset(key, new LocalDesk(this, key, override));
        });
    }

    @Override
    public Mono<Void> refund(Debit debit) {
        return Mono.fromRunnable(() -> refundNow(debit));
    }

    @Override
    public void refundNow(Debit debit) {
        settings.recorder().counted(giveBack(debit) ? Event.REFUNDED : Event.REFUND_LOST, debit.permits());
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
        long uncharged = seen.table.overdraw(key, clock.now(), permits, maxDebt);
        return isInEffect(seen, override) ? uncharged : overdraw(key, override, permits, maxDebt);
    }

    @Override
    public Mono<Void> pause(String key, @Nullable RateLimitPolicy override, Duration duration) {
        return doing(() -> {
            long now = clock.now();
            pauses.pause(key, now, Saturated.plus(now, duration));
            replan(key, override);
        });
    }

    @Override
    public Mono<Void> pauseAtLeast(String key, @Nullable RateLimitPolicy override, Duration duration) {
        return doing(() -> {
            long now = clock.now();
            pauses.pauseAtLeast(key, now, Saturated.plus(now, duration));
            replan(key, override);
        });
    }

    private void replan(String key, @Nullable RateLimitPolicy override) {
        lines.replan(key, new LocalDesk(this, key, override));
    }

    @Override
    public Mono<Void> migrate(String key, @Nullable RateLimitPolicy from, @Nullable RateLimitPolicy to) {
        return doing(() -> {
            long now = clock.now();
            PolicyVersion next = version(to);
            next.table.reset(key, clock::now);
            // A request that still names the policy before finds nothing left.
            List<Spending> spent = version(from).table.spendAll(key, now);
            next.table.charge(key, now, Spending.under(next.policy, spent));
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
                next = tables.next(before, to);
            } while (!CURRENT.compareAndSet(this, before, next));
            if (before.table != next.table) {
                before.table.freeze(clock.now());
            }
            notifyOfPolicy();
            lines.replanAll();
            PolicyVersion migrated = next;
            Migration.start(next.table, settings.scheduler(), clock, () -> current == migrated && !isClosed());
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
        return lines.close();
    }

    @Override
    public boolean isClosed() {
        return lines.isClosed();
    }
}
