package io.github.reactorratelimit.local;

import io.github.reactorratelimit.algorithm.Spending;
import java.util.List;

/** The state in a slot of a {@link Level}, as a cell. */
final class SlotWord extends LongWord {

    final Level level;
    final int slot;

    /** Whether the key got the slot just now, so that its place in the table is used up. */
    final boolean taken;

    /** @param found a slot, with {@link Level#TAKEN} added if the key has just got it */
    SlotWord(Shared shared, Level level, int found) {
        super(shared);
        this.level = level;
        this.slot = found & ~Level.TAKEN;
        this.taken = (found & Level.TAKEN) != 0;
    }

    @Override
    long state() {
        return level.state(slot);
    }

    @Override
    boolean swap(long seen, long next) {
        return level.swap(slot, seen, next);
    }

    boolean isEntering() {
        return state() == Level.ENTERING;
    }

    /** Gives an entering key its first state; the first one wins. */
    boolean begin(long state) {
        return swap(Level.ENTERING, state);
    }

    /** Whether this call killed it. */
    boolean forgetHere(long now) {
        long seen = state();
        return !isMark(seen) && forget(seen, now) == 0;
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
