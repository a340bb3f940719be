package io.github.reactorratelimit.local;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.algorithm.LongAlgorithm;

/** The steps on a slot of a {@link Level} that must cost next to nothing: each reads the state once and tries once. */
final class SlotSteps {

    private final LongWord.Shared shared;
    private final LongAlgorithm steps;

    SlotSteps(LongWord.Shared shared) {
        this.shared = shared;
        this.steps = shared.steps();
    }

    /** See {@link KeyTable#attempt}; {@link Cell#GONE} if the state is not here. */
    long attempt(Level level, int slot, long at, long permits, long reserve) {
        long seen = level.state(slot);
        if (LongWord.isMark(seen)) {
            return Cell.GONE;
        }
        long from = shared.from(seen, at);
        long reserved = shared.reserved(seen, from, reserve);
        long next = steps.take(reserved, from, permits);
        if (next == LongAlgorithm.RESERVED) {
            return Cell.since(at, from, steps.waitTicks(reserved, from, permits));
        }
        return level.swap(slot, seen, next) ? 0 : KeyTable.LOST;
    }

    /**
     * Takes permits if the state that is there allows it: 0 if taken, 1 if denied, {@link KeyTable#LOST} or
     * {@link Cell#GONE}. Unlike {@link #attempt}, it does not work out how long to wait.
     */
    long tryTake(Level level, int slot, long at, long permits) {
        long seen = level.state(slot);
        if (LongWord.isMark(seen)) {
            return Cell.GONE;
        }
        long next = steps.take(seen, shared.from(seen, at), permits);
        if (next == LongAlgorithm.RESERVED) {
            return 1;
        }
        return level.swap(slot, seen, next) ? 0 : KeyTable.LOST;
    }

    /** The state without the permits; {@link LongAlgorithm#RESERVED} if it denies them, another mark if it is none. */
    long next(long seen, long at, long permits) {
        return LongWord.isMark(seen) ? Level.ENTERING : steps.take(seen, shared.from(seen, at), permits);
    }

    /** What a state that denies the permits tells, with no object but the decision. */
    Decision denial(long seen, long at, long permits) {
        long from = shared.from(seen, at);
        long resetTicks = Cell.since(at, from, steps.resetTicks(seen, from));
        long waitTicks = Cell.since(at, from, steps.waitTicks(seen, from, permits));
        Decision.Quota quota = new Decision.Quota(steps.limit(), steps.remaining(seen, from), resetTicks);
        return Decision.deny(steps.policy(), permits, quota, waitTicks);
    }
}
