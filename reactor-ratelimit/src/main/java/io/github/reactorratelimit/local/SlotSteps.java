package io.github.reactorratelimit.local;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.algorithm.LongAlgorithm;

/** The steps on a slot of a {@link Level} that must cost next to nothing: no object, one read and one CAS when no other thread interferes. */
final class SlotSteps {

    private final LongWord.Shared shared;
    private final LongAlgorithm steps;

    SlotSteps(LongWord.Shared shared) {
        this.shared = shared;
        this.steps = shared.steps();
    }

    /** See {@link KeyTable#tryDebit}; {@link Cell#GONE} if the state is not here. */
    long tryDebit(Level level, int slot, long at, long permits) {
        for (; ; ) {
            long seen = level.state(slot);
            if (LongWord.isMark(seen)) {
                return Cell.GONE;
            }
            long from = shared.from(seen, at);
            long next = steps.take(seen, from, permits);
            if (next == LongAlgorithm.RESERVED) {
                return Cell.since(at, from, steps.waitTicks(seen, from, permits));
            }
            if (level.swap(slot, seen, next)) {
                return 0;
            }
        }
    }

    /** As {@link #tryDebit}, but 1 if denied: it does not compute how long to wait. */
    long tryTake(Level level, int slot, long at, long permits) {
        for (; ; ) {
            long seen = level.state(slot);
            if (LongWord.isMark(seen)) {
                return Cell.GONE;
            }
            long next = steps.take(seen, shared.from(seen, at), permits);
            if (next == LongAlgorithm.RESERVED) {
                return 1;
            }
            if (level.swap(slot, seen, next)) {
                return 0;
            }
        }
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
        return Decision.deny(
                steps.policy(), permits, steps.limit(), steps.remaining(seen, from), resetTicks, waitTicks);
    }
}
