package io.github.reactorratelimit.local;

import io.github.reactorratelimit.algorithm.LongAlgorithm;
import io.github.reactorratelimit.algorithm.Spending;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** A planted fault: writes the next state without comparing; it yields to be found sooner. */
final class PlainCell extends Cell<Long> {

    private static final Long DEAD = LongAlgorithm.RESERVED;

    private final AtomicReference<@Nullable Long> state = new AtomicReference<>();

    PlainCell(String key, int hash) {
        super(key, hash);
    }

    @Override
    Outcome tryTake(Shared<Long> shared, long at, long permits) {
        Long seen = state();
        if (seen == null) {
            return Outcome.GONE;
        }
        long next = shared.longSteps().take(seen, at, permits);
        if (next == LongAlgorithm.RESERVED) {
            return Outcome.DENIED;
        }
        Thread.yield();
        state.set(next);
        return Outcome.TAKEN;
    }

    @Override
    @Nullable
    Long state() {
        Long seen = state.get();
        return DEAD.equals(seen) ? null : seen;
    }

    @Override
    boolean isEntering() {
        return state.get() == null;
    }

    @Override
    boolean isDead() {
        return DEAD.equals(state.get());
    }

    @Override
    boolean swap(Long seen, Long next) {
        return state.compareAndSet(seen, next);
    }

    @Override
    boolean swapDead(@Nullable Long seen) {
        return state.compareAndSet(seen, DEAD);
    }

    @Override
    void begin(Shared<Long> shared, Cell<Long> start) {
        state.compareAndSet(null, start.stateOrFresh(shared));
    }

    @Override
    PlainCell owing(Shared<Long> shared, long at, List<Spending> spent) {
        throw new UnsupportedOperationException("nothing is carried over here");
    }

    @Override
    long from(Shared<Long> shared, Long seen, long at) {
        return at;
    }
}
