package io.github.reactorratelimit.local;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.LimiterState;
import io.github.reactorratelimit.PermitRun;
import io.github.reactorratelimit.PermitsExceedCapacityException;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiterClosedException;
import io.github.reactorratelimit.Verdict;
import io.github.reactorratelimit.algorithm.Spending;
import io.github.reactorratelimit.waiting.Pauses;
import io.github.reactorratelimit.waiting.WaitLines;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** The keys of one limiter in this process: a table for each policy, the pauses and the lines. */
final class LocalState implements LimiterState {

    private static final AtomicReferenceFieldUpdater<LocalState, Reign> REIGN =
            AtomicReferenceFieldUpdater.newUpdater(LocalState.class, Reign.class, "reign");

    private final LimiterSettings settings;
    private final LocalClock clock;
    private final Pauses pauses = new Pauses();
    private final WaitLines lines;
    private final LocalTables tables;

    private final OwnRules owner = new OwnRules(this);

    private volatile Reign reign;
    private volatile Consumer<RateLimitPolicy> ruledAnew = policy -> {};

    /** How often a key was paused, reset or carried, or the policy changed: what was taken ahead is not used across that. */
    private final AtomicInteger changes = new AtomicInteger();

    LocalState(LimiterSettings settings, int maxKeys) {
        this.settings = settings;
        this.clock = new LocalClock(settings.scheduler());
        this.lines = new WaitLines(settings);
        this.tables = new LocalTables(settings.name(), clock, maxKeys, lines::permitsCameBack);
        this.reign = Reign.first(settings.policy(), tables.make(settings.policy()), !settings.policiesPerKey());
    }

    /** Of keys that were given no policy. */
    KeyTable table(RateLimitPolicy policy) {
        return sharedTable(reign, policy);
    }

    KeyTable table(String key, RateLimitPolicy policy) {
        return table(reign, key, policy);
    }

    KeyTable table(Reign current, String key, RateLimitPolicy policy) {
        OwnRule own = current.own(key);
        return own == null ? sharedTable(current, policy) : owner.table(current, own, key, policy);
    }

    KeyTable sharedTable(Reign current, RateLimitPolicy policy) {
        return tables.shared(current, policy);
    }

    /** Whether these permits can never be had: they were asked for before the policy changed. */
    private static boolean exceeds(Reign current, String key, RateLimitPolicy named, long permits) {
        return permits > current.ruling(key, named).capacity();
    }

    private static boolean mayExceed(Reign current, RateLimitPolicy named) {
        return named != current.policy || current.hasOwnRules;
    }

    Reign reign() {
        return reign;
    }

    @Override
    public boolean tryAcquireNow(String key, RateLimitPolicy policy, long permits) {
        if (!lines.isQuiet() && (lines.isClosed() || lines.hasWaiters(key))) {
            return false;
        }
        Reign seen = reign;
        if (mayExceed(seen, policy) && exceeds(seen, key, policy, permits)) {
            return false;
        }
        KeyTable table = table(seen, key, policy);
        long pausedUntil = pauses.endOf(key);
        if (pausedUntil == Pauses.NOT_PAUSED && table.takePrepaid(key, permits)) {
            return reign == seen || tryAcquireNow(key, policy, permits);
        }
        long now = clock.now();
        boolean taken = now >= pausedUntil && table.tryTake(key, now, permits);
        return taken && (reign == seen || tryAcquireNow(key, policy, permits));
    }

    @Override
    public Verdict decideNow(String key, RateLimitPolicy policy, long permits) {
        if (lines.isClosed()) {
            return Verdict.UNKNOWN;
        }
        boolean inLine = !lines.isQuiet() && lines.hasWaiters(key);
        Reign seen = reign;
        if (mayExceed(seen, policy) && exceeds(seen, key, policy, permits)) {
            return Verdict.UNKNOWN;
        }
        KeyTable table = table(seen, key, policy);
        long pausedUntil = pauses.endOf(key);
        if (!inLine && pausedUntil == Pauses.NOT_PAUSED && table.takePrepaid(key, permits)) {
            return reign == seen ? Verdict.TAKEN : decideNow(key, policy, permits);
        }
        long now = clock.now();
        if (inLine || now < pausedUntil) {
            return new LocalDesk(this, key, policy).denyInLine(now, permits);
        }
        Decision denial = table.takeOrDeny(key, now, permits);
        if (denial != null) {
            return denial;
        }
        return reign == seen ? Verdict.TAKEN : decideNow(key, policy, permits);
    }

    @Override
    public PermitRun run(String key, RateLimitPolicy policy, long permits) {
        return LocalRun.isPossible(policy)
                ? new LocalRun(this, key, policy, permits)
                : LimiterState.super.run(key, policy, permits);
    }

    /**
     * Takes permits for at most {@code most} requests of {@code permits} each as of {@code now}, a reading
     * of {@link #now()}: how many, 0 if denied.
     */
    long tryAcquireUpTo(String key, RateLimitPolicy policy, long permits, long most, long now) {
        if (lines.isClosed() || lines.hasWaiters(key) || pauses.isPaused(key, now)) {
            return 0;
        }
        Reign seen = reign;
        if (mayExceed(seen, policy) && exceeds(seen, key, policy, permits * most)) {
            return 0;
        }
        long times = table(seen, key, policy).tryDebitUpTo(key, now, permits, most);
        return times == 0 || reign == seen ? times : tryAcquireUpTo(key, policy, permits, most, now);
    }

    /**
     * Gives back permits of {@link #tryAcquireUpTo}; unlike a refund that is nobody's to count. False if they were taken
     * under a policy that rules no longer: what was spent then has been carried over.
     */
    boolean giveBack(String key, RateLimitPolicy policy, long permits, long debitedAt) {
        boolean isBack = putBack(key, policy, permits, debitedAt);
        if (isBack) {
            lines.permitsCameBack(key);
        }
        return isBack;
    }

    /** Somebody may wait for them. */
    void permitsCameBack(String key) {
        lines.permitsCameBack(key);
    }

    /** {@link #giveBack} without a word to those who wait. */
    boolean putBack(String key, RateLimitPolicy policy, long permits, long debitedAt) {
        Reign current = reign;
        if (current.hasCarriedOver(key, policy, debitedAt)) {
            return false;
        }
        table(current, key, policy).refund(key, clock::now, debitedAt, permits);
        return true;
    }

    long now() {
        return clock.now();
    }

    long pausedUntil(String key) {
        return pauses.endOf(key);
    }

    boolean mustWait(String key, long now) {
        return pauses.isPaused(key, now) || lines.hasWaiters(key);
    }

    /** See {@link WaitLines#grantedAt}. */
    long grantedAt(String key, LocalDesk desk, long now, long permits) {
        return lines.grantedAt(key, desk, now, permits);
    }

    /** Whether nobody closed the limiter, paused or changed a key since {@link #changes()} was {@code seen}. */
    boolean isUnchangedSince(int seen) {
        return changes.get() == seen && !lines.isClosed();
    }

    int changes() {
        return changes.get();
    }

    private Mono<Decision> neverAllowed(String key, RateLimitPolicy policy, long permits) {
        return Mono.error(new PermitsExceedCapacityException(
                permits, reign.ruling(key, policy).capacity()));
    }

    @Override
    public Mono<Decision> evaluate(String key, RateLimitPolicy policy, long permits) {
        return Mono.defer(() -> {
            LocalDesk desk = new LocalDesk(this, key, policy);
            return exceeds(reign, key, policy, permits)
                    ? neverAllowed(key, policy, permits)
                    : lines.atOnce(desk, () -> desk.evaluate(permits));
        });
    }

    @Override
    public Mono<Decision> await(String key, RateLimitPolicy policy, long permits, long maxWaitNanos) {
        return Mono.defer(() -> exceeds(reign, key, policy, permits)
                ? neverAllowed(key, policy, permits)
                : lines.await(key, new LocalDesk(this, key, policy), permits, maxWaitNanos));
    }

    @Override
    public Mono<Decision> peek(String key, RateLimitPolicy policy, long permits) {
        return answering(() -> new LocalDesk(this, key, policy).peek(permits));
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
                    // Afterwards: who does not see the new number took permits before, or sees what was done.
                    changes.incrementAndGet();
                    return true;
                })
                .then();
    }

    @Override
    public Mono<Void> reset(String key, RateLimitPolicy policy) {
        return doing(() -> {
            Reign seen;
            do {
                seen = reign;
                table(seen, key, policy).reset(key, clock::now);
                if (seen.own(key) != null) {
                    sharedTable(seen, policy).reset(key, clock::now);
                }
            } while (reign != seen);
            pauses.end(key);
            lines.replan(key, new LocalDesk(this, key, policy));
        });
    }

    @Override
    public Mono<Void> refund(Debit debit) {
        return Mono.fromRunnable(() -> {
            if (giveBack(debit)) {
                settings.recorder().refunded(debit.permits());
            } else {
                settings.recorder().refundLost(debit.permits());
            }
        });
    }

    boolean giveBack(Debit debit) {
        return giveBack(debit.key(), debit.policy(), debit.permits(), debit.atTick());
    }

    @Override
    public Mono<Long> charge(String key, RateLimitPolicy policy, long permits, long maxDebt) {
        return Mono.fromCallable(() -> {
            long uncharged = overdraw(key, policy, permits, maxDebt);
            lines.replan(key, new LocalDesk(this, key, policy));
            return uncharged;
        });
    }

    private long overdraw(String key, RateLimitPolicy policy, long permits, long maxDebt) {
        Reign seen = reign;
        long uncharged = table(seen, key, policy).overdraw(key, clock.now(), permits, maxDebt);
        return reign == seen ? uncharged : overdraw(key, policy, permits, maxDebt);
    }

    @Override
    public Mono<Void> pause(String key, RateLimitPolicy policy, Duration duration) {
        return doing(() -> {
            long now = clock.now();
            pauses.pause(key, now, LocalTables.saturatedAdd(now, duration));
            paused(key, policy);
        });
    }

    @Override
    public Mono<Void> pauseAtLeast(String key, RateLimitPolicy policy, Duration duration) {
        return doing(() -> {
            long now = clock.now();
            pauses.pauseAtLeast(key, now, LocalTables.saturatedAdd(now, duration));
            paused(key, policy);
        });
    }

    private void paused(String key, RateLimitPolicy policy) {
        table(key, policy).startAfresh(key);
        lines.replan(key, new LocalDesk(this, key, policy));
    }

    @Override
    public Mono<Void> carry(String key, RateLimitPolicy from, RateLimitPolicy to) {
        return doing(() -> {
            if (owner.carry(key, to)) {
                return;
            }
            long now = clock.now();
            long spent = Spending.under(to, table(from).spent(key, now));
            table(from).reset(key, clock::now);
            table(to).charge(key, now, spent);
            lines.replan(key, new LocalDesk(this, key, to));
        });
    }

    @Override
    public void whenRuledAnew(Consumer<RateLimitPolicy> listener) {
        ruledAnew = listener;
    }

    @Override
    public RateLimitPolicy ruling(RateLimitPolicy policy) {
        return reign.ruling(policy);
    }

    @Override
    public Mono<Void> changePolicy(RateLimitPolicy to) {
        return doing(() -> {
            Reign before;
            Reign next;
            do {
                before = reign;
                next = tables.succeed(before, to);
            } while (!REIGN.compareAndSet(this, before, next));
            if (before.table != next.table) {
                before.table.freeze();
            }
            owner.followAll();
            tellWhatRules();
            lines.replanAll();
            Succession.shorten(next.table, clock.now());
        });
    }

    /** Of several who tell at the same time the last one tells what rules. */
    private void tellWhatRules() {
        Reign told;
        do {
            told = reign;
            ruledAnew.accept(told.policy);
        } while (reign != told);
    }

    @Override
    public Mono<Void> changePolicy(String key, RateLimitPolicy named, RateLimitPolicy to) {
        return doing(() -> {
            owner.give(key, named, to);
            lines.replan(key, new LocalDesk(this, key, named));
        });
    }

    @Override
    public Mono<Void> restorePolicy(String key, RateLimitPolicy named) {
        return doing(() -> {
            owner.takeBack(key, named);
            lines.replan(key, new LocalDesk(this, key, named));
        });
    }

    @Override
    public @Nullable RateLimitPolicy ownPolicy(String key) {
        OwnRule own = reign.own(key);
        return own == null || own.follows() ? null : own.policy();
    }

    boolean succeed(Reign before, Reign next) {
        return REIGN.compareAndSet(this, before, next);
    }

    /** See {@link LocalTables#heirOfOne}. */
    KeyTable heirOf(KeyTable before, RateLimitPolicy to, long now) {
        return tables.heirOfOne(before, to, now);
    }

    String name() {
        return settings.name();
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
