package io.github.reactorratelimit.local;

import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.algorithm.LongAlgorithm;
import io.github.reactorratelimit.algorithm.Projection;
import io.github.reactorratelimit.algorithm.Reading;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A state in one long, swapped by CAS; nothing is allocated but what is returned. For policies that
 * need no {@linkplain Forgetting#marginTicks() margin}.
 */
final class LongCell extends Cell {

    private static final long DEAD = LongAlgorithm.RESERVED;
    private static final VarHandle STATE;

    static {
        try {
            STATE = MethodHandles.lookup().findVarHandle(LongCell.class, "state", long.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /** What all cells of a table share. */
    private record Shared(LongAlgorithm steps, Algorithm<Long> boxed, long fresh, Forgetting forgetting) {}

    private final Shared shared;
    private volatile long state;

    private LongCell(Shared shared, long state) {
        this.shared = shared;
        this.state = state;
    }

    static LongCell fresh(LongAlgorithm steps, Forgetting forgetting) {
        long fresh = steps.fresh();
        return new LongCell(new Shared(steps, steps.boxed(), fresh, forgetting), fresh);
    }

    @Override
    long tryDebit(long at, long permits) {
        LongAlgorithm steps = shared.steps;
        for (; ; ) {
            long seen = state;
            if (seen == DEAD) {
                return GONE;
            }
            long from = from(seen, at);
            long waitTicks = steps.waitTicks(seen, from, permits);
            if (waitTicks != 0) {
                return since(at, from, waitTicks);
            }
            if (swap(seen, steps.debit(seen, from, permits))) {
                return 0;
            }
        }
    }

    @Override
    long attempt(long at, long permits, long reserve) {
        LongAlgorithm steps = shared.steps;
        long seen = state;
        if (seen == DEAD) {
            return GONE;
        }
        long from = from(seen, at);
        long reserved = reserve == 0 ? seen : reserved(seen, from, reserve);
        long waitTicks = steps.waitTicks(reserved, from, permits);
        if (waitTicks != 0) {
            return since(at, from, waitTicks);
        }
        return swap(seen, steps.debit(reserved, from, permits)) ? 0 : KeyTable.LOST;
    }

    @Override
    long settle(long at, long reserve, long back) {
        LongAlgorithm steps = shared.steps;
        for (; ; ) {
            long seen = state;
            if (seen == DEAD) {
                return GONE;
            }
            long from = from(seen, at);
            long reserved = reserved(seen, from, reserve);
            if (swap(seen, back == 0 ? reserved : steps.refund(reserved, from, from, back))) {
                return Math.max(0, steps.remaining(seen, from) - (steps.limit() - reserve));
            }
        }
    }

    /** Giving back stops where nothing is spent: so this is the state, or the one with the reserve spent if that owes more. */
    private long reserved(long seen, long from, long reserve) {
        return shared.steps.debit(shared.steps.refund(seen, from, from, reserve), from, reserve);
    }

    @Override
    @Nullable
    Reading debit(long at, long permits) {
        LongAlgorithm steps = shared.steps;
        for (; ; ) {
            long seen = state;
            if (seen == DEAD) {
                return null;
            }
            long from = from(seen, at);
            if (steps.waitTicks(seen, from, permits) != 0) {
                return since(at, from, shared.boxed.read(seen, from, permits));
            }
            long next = steps.debit(seen, from, permits);
            if (swap(seen, next)) {
                return since(at, from, shared.boxed.read(next, from, 0));
            }
        }
    }

    @Override
    boolean charge(long at, long permits) {
        LongAlgorithm steps = shared.steps;
        for (; ; ) {
            long seen = state;
            if (seen == DEAD) {
                return false;
            }
            long from = from(seen, at);
            long charged = Math.min(permits, steps.remaining(seen, from));
            if (charged == 0 || swap(seen, steps.debit(seen, from, charged))) {
                return true;
            }
        }
    }

    @Override
    void refund(LongSupplier clock, long debitedAt, long permits) {
        for (; ; ) {
            long seen = state;
            if (seen == DEAD) {
                return;
            }
            long now = shared.forgetting.notBefore(clock.getAsLong());
            long next = shared.steps.refund(seen, now, debitedAt, permits);
            if (next == seen || swap(seen, next)) {
                return;
            }
        }
    }

    @Override
    boolean kill() {
        for (; ; ) {
            long seen = state;
            if (seen == DEAD) {
                return false;
            }
            if (swap(seen, DEAD)) {
                return true;
            }
        }
    }

    @Override
    Reading read(long now, long permits) {
        long seen = aliveOrFresh();
        long from = from(seen, now);
        return since(now, from, shared.boxed.read(seen, from, permits));
    }

    @Override
    long waitTicks(long at, long permits) {
        long seen = aliveOrFresh();
        long from = from(seen, at);
        return since(at, from, shared.steps.waitTicks(seen, from, permits));
    }

    @Override
    Projection<?> projection(long now) {
        long seen = aliveOrFresh();
        return Projection.of(shared.boxed, seen, from(seen, now));
    }

    @Override
    boolean isDead() {
        return state == DEAD;
    }

    @Override
    boolean isRefilled(long at) {
        return shared.steps.resetTicks(state, at) == 0;
    }

    @Override
    long forget(long now) {
        long seen = state;
        if (seen == DEAD) {
            return 0;
        }
        long waitTicks = forgettableIn(seen, now);
        if (waitTicks != 0) {
            return waitTicks;
        }
        shared.forgetting.advanceTo(now);
        return swap(seen, DEAD) ? 0 : 1;
    }

    private long forgettableIn(long seen, long now) {
        return seen == shared.fresh ? 0 : shared.steps.resetTicks(seen, now);
    }

    @Override
    LongCell copy() {
        return new LongCell(shared, aliveOrFresh());
    }

    private long from(long seen, long at) {
        return seen == shared.fresh ? shared.forgetting.notBefore(at) : at;
    }

    private long aliveOrFresh() {
        long seen = state;
        return seen == DEAD ? shared.fresh : seen;
    }

    private boolean swap(long seen, long next) {
        return STATE.compareAndSet(this, seen, next);
    }
}
