package io.github.reactorratelimit.local;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.LimiterState;
import io.github.reactorratelimit.PermitRun;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiterClosedException;
import io.github.reactorratelimit.Verdict;
import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.algorithm.Projection;
import io.github.reactorratelimit.algorithm.Reading;
import io.github.reactorratelimit.waiting.Desk;
import io.github.reactorratelimit.waiting.Pauses;
import io.github.reactorratelimit.waiting.WaitLines;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import reactor.core.publisher.Mono;

/** The keys of one limiter in this process: a table for each policy, the pauses and the lines. */
final class LocalState implements LimiterState {

    /** A resolver that makes up a policy for every key would make a table for every key. */
    private static final int MAX_POLICIES = 1_000;

    private final LimiterSettings settings;
    private final int maxKeys;
    private final LocalClock clock;
    private final Pauses pauses = new Pauses();
    private final WaitLines lines;
    private final KeyTable ownTable;
    private final Map<RateLimitPolicy, KeyTable> otherTables = new ConcurrentHashMap<>();

    /** How often a key was paused, reset or carried: what was taken ahead is not used across that. */
    private final AtomicInteger changes = new AtomicInteger();

    LocalState(LimiterSettings settings, int maxKeys) {
        this.settings = settings;
        this.maxKeys = maxKeys;
        this.clock = new LocalClock(settings.scheduler());
        this.lines = new WaitLines(settings);
        this.ownTable = newTable(settings.policy());
    }

    private KeyTable newTable(RateLimitPolicy policy) {
        KeyTable plain = KeyTable.of(policy, clock.forAlgorithms(), maxKeys);
        return PacedTable.over(StripedTable.over(plain, policy, clock::now), policy);
    }

    KeyTable table(RateLimitPolicy policy) {
        if (policy == settings.policy() || policy.equals(settings.policy())) {
            return ownTable;
        }
        KeyTable known = otherTables.get(policy);
        if (known != null) {
            return known;
        }
        if (otherTables.size() >= MAX_POLICIES) {
            throw new IllegalStateException("limiter '" + settings.name() + "' has more than " + MAX_POLICIES
                    + " different policies; the policy resolver should return a few plans, not one policy per key");
        }
        return otherTables.computeIfAbsent(policy, this::newTable);
    }

    @Override
    public boolean tryAcquireNow(String key, RateLimitPolicy policy, long permits) {
        if (lines.isClosed() || lines.hasWaiters(key)) {
            return false;
        }
        KeyTable table = table(policy);
        if (pauses.endOf(key) == Pauses.NOT_PAUSED && table.takePrepaid(key, permits)) {
            return true;
        }
        long now = clock.now();
        return !pauses.isPaused(key, now) && table.tryDebit(key, now, permits) == 0;
    }

    @Override
    public Verdict decideNow(String key, RateLimitPolicy policy, long permits) {
        if (lines.isClosed()) {
            return Verdict.UNKNOWN;
        }
        KeyTable table = table(policy);
        long now = clock.now();
        boolean inLine = pauses.isPaused(key, now) || lines.hasWaiters(key);
        if (!inLine && table.tryDebit(key, now, permits) == 0) {
            return Verdict.TAKEN;
        }
        KeyDesk desk = new KeyDesk(key, policy, table);
        Decision decision = inLine ? desk.denyInLine(now, permits) : desk.debit(now, permits);
        return decision.allowed() ? Verdict.TAKEN : new Verdict.Denied(decision);
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
        return lines.isClosed() || lines.hasWaiters(key) || pauses.isPaused(key, now)
                ? 0
                : table(policy).tryDebitUpTo(key, now, permits, most);
    }

    /** Gives back permits of {@link #tryAcquireUpTo}; unlike a refund that is nobody's to count. */
    void giveBack(String key, RateLimitPolicy policy, long permits, long debitedAt) {
        table(policy).refund(key, clock::now, debitedAt, permits);
        lines.permitsCameBack(key);
    }

    long now() {
        return clock.now();
    }

    /** Whether nobody closed the limiter, paused or changed a key since {@link #changes()} was {@code seen}. */
    boolean isUnchangedSince(int seen) {
        return changes.get() == seen && !lines.isClosed();
    }

    int changes() {
        return changes.get();
    }

    @Override
    public Mono<Decision> evaluate(String key, RateLimitPolicy policy, long permits) {
        return Mono.defer(() -> {
            KeyDesk desk = new KeyDesk(key, policy, table(policy));
            return lines.atOnce(desk, () -> desk.evaluate(permits));
        });
    }

    @Override
    public Mono<Decision> await(String key, RateLimitPolicy policy, long permits, long maxWaitNanos) {
        return Mono.defer(() -> lines.await(key, new KeyDesk(key, policy, table(policy)), permits, maxWaitNanos));
    }

    @Override
    public Mono<Decision> peek(String key, RateLimitPolicy policy, long permits) {
        return answering(() -> {
            KeyDesk desk = new KeyDesk(key, policy, table(policy));
            long now = clock.now();
            return desk.mustWait(now) ? desk.denyInLine(now, permits) : desk.peek(now, permits);
        });
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
            KeyTable table = table(policy);
            table.reset(key, clock.now());
            pauses.end(key);
            lines.replan(key, new KeyDesk(key, policy, table));
        });
    }

    @Override
    public Mono<Void> refund(Debit debit) {
        return Mono.fromRunnable(() -> {
            giveBack(debit);
            settings.recorder().refunded(debit.permits());
        });
    }

    private void giveBack(Debit debit) {
        giveBack(debit.key(), debit.policy(), debit.permits(), debit.atTick());
    }

    @Override
    public Mono<Void> pause(String key, RateLimitPolicy policy, Duration duration) {
        return doing(() -> {
            long now = clock.now();
            pauses.pause(key, now, saturatedAdd(now, duration));
            KeyTable table = table(policy);
            table.startAfresh(key);
            lines.replan(key, new KeyDesk(key, policy, table));
        });
    }

    private static long saturatedAdd(long now, Duration duration) {
        Duration longest = Duration.ofNanos(Long.MAX_VALUE - Math.max(now, 0));
        return duration.compareTo(longest) >= 0 ? Long.MAX_VALUE : now + duration.toNanos();
    }

    @Override
    public Mono<Void> carry(String key, RateLimitPolicy from, RateLimitPolicy to) {
        return doing(() -> {
            long now = clock.now();
            Reading spent = table(from).read(key, now, 1);
            table(from).reset(key, now);
            table(to).charge(key, now, spent.limit() - spent.remaining());
            lines.replan(key, new KeyDesk(key, to, table(to)));
        });
    }

    @Override
    public Mono<Void> close() {
        return lines.close();
    }

    @Override
    public boolean isClosed() {
        return lines.isClosed();
    }

    /** One key under one policy, as the lines see it. */
    private final class KeyDesk implements Desk {

        private final String key;
        private final RateLimitPolicy policy;
        private final KeyTable table;

        KeyDesk(String key, RateLimitPolicy policy, KeyTable table) {
            this.key = key;
            this.policy = policy;
            this.table = table;
        }

        @Override
        public long now() {
            return clock.now();
        }

        @Override
        public RateLimitPolicy policy() {
            return policy;
        }

        @Override
        public long pausedUntil() {
            return pauses.endOf(key);
        }

        Decision evaluate(long permits) {
            long now = clock.now();
            return mustWait(now) ? denyInLine(now, permits) : debitOnArrival(now, permits);
        }

        private boolean mustWait(long now) {
            return pauses.isPaused(key, now) || lines.hasWaiters(key);
        }

        @Override
        public long waitNanos(long at, long permits) {
            return table.waitTicks(key, at, permits);
        }

        @Override
        public Decision debit(long at, long permits) {
            Reading reading = table.debit(key, at, permits);
            return reading.allowed()
                    ? Decision.allow(
                            reading.policy(), quota(reading), new Debit(LocalState.this, key, policy, permits, at))
                    : Decision.deny(reading.policy(), permits, quota(reading), reading.waitTicks());
        }

        @Override
        public Decision debitOnArrival(long now, long permits) {
            long slot = table.arrival(key, now);
            Decision decision = debit(slot, permits);
            if (slot == now) {
                return decision;
            }
            if (!decision.allowed()) {
                return debit(now, permits);
            }
            table.told(key, slot, () -> now);
            return decision;
        }

        @Override
        public void told(Debit debit) {
            table.told(key, debit.atTick(), clock::now);
        }

        Decision peek(long now, long permits) {
            Reading reading = table.read(key, now, permits);
            return reading.allowed()
                    ? Decision.wouldAllow(reading.policy(), permits, quota(reading))
                    : Decision.deny(reading.policy(), permits, quota(reading), reading.waitTicks());
        }

        @Override
        public void refund(Debit debit) {
            giveBack(debit);
        }

        @Override
        public void undo(Debit debit) {
            table.refund(key, clock::now, debit.atTick(), debit.permits());
        }

        Decision denyInLine(long now, long permits) {
            return deny(now, permits, lines.grantedAt(key, this, now, permits));
        }

        @Override
        public Decision deny(long now, long permits, long grantedAt) {
            Reading reading = table.read(key, now, permits);
            Decision.Quota nothingAtOnce = new Decision.Quota(reading.limit(), 0, reading.resetTicks());
            long retryAfter = grantedAt == Algorithm.UNKNOWN ? grantedAt : Math.max(1, grantedAt - now);
            return Decision.deny(reading.policy(), permits, nothingAtOnce, retryAfter);
        }

        @Override
        public Projection<?> projection(long now) {
            return table.projection(key, now);
        }

        private Decision.Quota quota(Reading reading) {
            return new Decision.Quota(reading.limit(), reading.remaining(), reading.resetTicks());
        }
    }
}
