package io.github.reactorratelimit.local;

import io.github.reactorratelimit.algorithm.LongAlgorithm;
import io.github.reactorratelimit.algorithm.Spending;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.List;

/** A cell of its own for one long. */
final class LongCell extends LongWord {

    private static final VarHandle STATE;

    static {
        try {
            STATE = MethodHandles.lookup().findVarHandle(LongCell.class, "state", long.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private volatile long state;

    LongCell(Shared shared, long state) {
        super(shared);
        this.state = state;
    }

    static LongCell fresh(LongAlgorithm steps, Forgetting forgetting) {
        return fresh(Shared.of(steps, forgetting));
    }

    static LongCell fresh(Shared shared) {
        return new LongCell(shared, shared.fresh());
    }

    @Override
    long state() {
        return state;
    }

    @Override
    boolean swap(long seen, long next) {
        return STATE.compareAndSet(this, seen, next);
    }

    @Override
    LongCell owing(long at, List<Spending> spent) {
        return new LongCell(shared, shared.owing(aliveOrFresh(), at, spent));
    }

    @Override
    LongCell copy() {
        return new LongCell(shared, aliveOrFresh());
    }
}
