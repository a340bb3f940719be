package io.github.reactorratelimit.local;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.algorithm.LongAlgorithm;
import io.github.reactorratelimit.algorithm.Spending;
import java.util.List;
import java.util.concurrent.atomic.AtomicLongFieldUpdater;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** A cell whose state is one long. Its frequent steps allocate nothing but what they return. */
final class LongCell extends Cell<Long> {

    private static final long DEAD = LongAlgorithm.RESERVED;
    private static final long ENTERING = LongAlgorithm.LAST_RESERVED;

    private static final AtomicLongFieldUpdater<LongCell> STATE =
            AtomicLongFieldUpdater.newUpdater(LongCell.class, "state");

    private volatile long state;

    LongCell(String key, int hash) {
        this(key, hash, ENTERING);
    }

    private LongCell(String key, int hash, long state) {
        super(key, hash);
        this.state = state;
    }

    @Override
    @Nullable
    Long state() {
        long seen = state;
        return isMark(seen) ? null : Long.valueOf(seen);
    }

    private static boolean isMark(long state) {
        return state <= LongAlgorithm.LAST_RESERVED;
    }

    @Override
    boolean isEntering() {
        return state == ENTERING;
    }

    @Override
    boolean isDead() {
        return state == DEAD;
    }

    @Override
    boolean swap(Long seen, Long next) {
        return STATE.compareAndSet(this, seen.longValue(), next.longValue());
    }

    @Override
    boolean swapDead(@Nullable Long seen) {
        return STATE.compareAndSet(this, seen == null ? ENTERING : seen.longValue(), DEAD);
    }

    @Override
    void begin(Shared<Long> shared, Cell<Long> start) {
        STATE.compareAndSet(this, ENTERING, start.stateOrFresh(shared).longValue());
    }

    @Override
    LongCell owing(Shared<Long> shared, long at, List<Spending> spent) {
        return new LongCell(key, hash, shared.steps.owing(stateOrFresh(shared), at, spent));
    }

    @Override
    long from(Shared<Long> shared, Long seen, long at) {
        return from(shared, seen.longValue(), at);
    }

    private static long from(Shared<Long> shared, long seen, long at) {
        return seen == shared.longFresh ? shared.horizon.notBefore(at) : at;
    }

    @Override
    Outcome tryTake(Shared<Long> shared, long at, long permits) {
        LongAlgorithm steps = shared.longSteps();
        for (; ; ) {
            long seen = state;
            if (isMark(seen)) {
                return Outcome.GONE;
            }
            long next = steps.take(seen, from(shared, seen, at), permits);
            if (next == LongAlgorithm.RESERVED) {
                return Outcome.DENIED;
            }
            if (STATE.compareAndSet(this, seen, next)) {
                return Outcome.TAKEN;
            }
        }
    }

    @Override
    @Nullable
    Decision decide(Shared<Long> shared, Object owner, RateLimitPolicy policy, long at, long permits) {
        LongAlgorithm steps = shared.longSteps();
        for (; ; ) {
            long seen = state;
            if (isMark(seen)) {
                return null;
            }
            long from = from(shared, seen, at);
            long next = steps.take(seen, from, permits);
            if (next == LongAlgorithm.RESERVED) {
                return denial(shared, at, permits);
            }
            if (STATE.compareAndSet(this, seen, next)) {
                long remaining = steps.remaining(next, from);
                long more =
                        remaining < steps.capacity() ? steps.waitTicks(next, from, remaining + 1) : Algorithm.UNKNOWN;
                return Decision.allow(
                        steps.policy(),
                        remaining,
                        since(at, from, steps.resetTicks(next, from)),
                        since(at, from, more),
                        new Debit(owner, key, policy, permits, at));
            }
        }
    }

    @Override
    @Nullable
    Decision denial(Shared<Long> shared, long at, long permits) {
        LongAlgorithm steps = shared.longSteps();
        long seen = state;
        long from = from(shared, seen, at);
        long wait = isMark(seen) ? 0 : steps.waitTicks(seen, from, permits);
        return wait == 0
                ? null
                : Decision.deny(
                        steps.policy(),
                        permits,
                        steps.remaining(seen, from),
                        since(at, from, steps.resetTicks(seen, from)),
                        since(at, from, wait));
    }

    @Override
    boolean refund(Shared<Long> shared, LongSupplier clock, long debitedAt, long permits) {
        for (; ; ) {
            long seen = state;
            if (isMark(seen)) {
                return false;
            }
            long now = shared.horizon.notBefore(clock.getAsLong());
            long next = shared.longSteps().refund(seen, now, debitedAt, permits);
            if (next == seen || STATE.compareAndSet(this, seen, next)) {
                return true;
            }
        }
    }
}
