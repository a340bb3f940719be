package io.github.reactorratelimit.local;

import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * Moves the states of the oldest level to later ones, a few slots at each call, forgets those that may
 * be forgotten, and drops the level when nothing is left. One thread moves at a time; the others go on
 * without and find keys in both.
 */
final class Mover {

    private static final int SLOTS_PER_CALL = 32;

    /** A key that others debit all the time is left for the next round. */
    private static final int ATTEMPTS = 8;

    /** Begins the state of a key that is entering. */
    interface Beginner {
        void begin(String key, SlotWord slot);
    }

    private final LongWord.Shared shared;
    private final Levels levels;
    private final Places places;
    private final LevelHand sweeping;
    private final Beginner beginner;

    /** Held by who moves or sweeps. */
    private final AtomicBoolean busy;

    // Owned by the thread that holds busy.
    private int hand;
    private boolean leftBehind;

    Mover(
            LongWord.Shared shared,
            Levels levels,
            Places places,
            LevelHand sweeping,
            Beginner beginner,
            AtomicBoolean busy) {
        this.shared = shared;
        this.levels = levels;
        this.places = places;
        this.sweeping = sweeping;
        this.beginner = beginner;
        this.busy = busy;
    }

    void move(long now) {
        if (!levels.areMoving() || busy.get() || !busy.compareAndSet(false, true)) {
            return;
        }
        try {
            moveSome(now);
        } finally {
            busy.set(false);
        }
    }

    private void moveSome(long now) {
        if (!levels.areMoving()) {
            return;
        }
        Level level = levels.oldest();
        int end = Math.min(level.slots(), hand + SLOTS_PER_CALL);
        for (; hand < end; hand++) {
            String key = level.keyOrSeal(hand);
            leftBehind |= key != null && !move(key, new SlotWord(shared, level, hand), now);
        }
        if (hand == level.slots()) {
            if (!leftBehind) {
                sweeping.leave(level);
                levels.dropOldest();
            }
            hand = 0;
            leftBehind = false;
        }
    }

    /** Whether the slot is final now. */
    private boolean move(String key, SlotWord from, long now) {
        SlotWord shadow = null;
        boolean moved = false;
        for (int i = 0; i < ATTEMPTS && !moved && !isFinal(from); i++) {
            if (from.isEntering()) {
                beginner.begin(key, from);
            } else if (from.forgetHere(now)) {
                places.release();
            } else {
                shadow = shadow == null ? shadowOf(key, from) : shadow;
                moved = shadow != null && moveTo(shadow, from);
            }
        }
        if (shadow != null && !moved) {
            shadow.level.clear(shadow.slot);
        }
        return isFinal(from);
    }

    /** Null if there is no slot for it, or if the key has one: then it was reset, and {@code from} is final. */
    private @Nullable SlotWord shadowOf(String key, SlotWord from) {
        SlotWord found = levels.takeShadow(from.level, key, from.level.hash(from.slot));
        return found != null && found.taken ? found : null;
    }

    /** Nobody but the mover sees the shadow before the state has moved. */
    private static boolean moveTo(SlotWord shadow, SlotWord from) {
        long state = from.state();
        if (LongWord.isMark(state)) {
            return false;
        }
        shadow.level.setState(shadow.slot, state);
        if (!from.swap(state, Level.MOVED)) {
            return false;
        }
        shadow.level.show(shadow.slot);
        return true;
    }

    private static boolean isFinal(SlotWord word) {
        long state = word.state();
        return state == LongWord.DEAD || state == Level.MOVED;
    }
}
