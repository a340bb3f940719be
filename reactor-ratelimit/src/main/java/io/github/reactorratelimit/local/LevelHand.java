package io.github.reactorratelimit.local;

/** Goes over the slots of all levels, the oldest first. Used by one thread at a time. */
final class LevelHand implements Sweeper.Hand {

    private static final int SLOTS_PER_CALL = 32;

    /** Empty slots are passed over, but not too many at once. */
    private static final int MOST_PASSED_OVER = 3;

    private final LongWord.Shared shared;
    private final Levels levels;
    private final Places places;
    private Level level;
    private int slot;

    LevelHand(LongWord.Shared shared, Levels levels, Places places) {
        this.shared = shared;
        this.levels = levels;
        this.places = places;
        this.level = levels.oldest();
    }

    @Override
    public int slotsPerCall() {
        return SLOTS_PER_CALL;
    }

    @Override
    public void restart() {
        level = levels.oldest();
        slot = 0;
    }

    /** Called before a level is dropped, which must not be kept from the garbage collector. */
    void leave(Level dropped) {
        Level next = dropped.next();
        if (level == dropped && next != null) {
            level = next;
            slot = 0;
        }
    }

    @Override
    public boolean hasNext() {
        return slot < level.slots() || level.next() != null;
    }

    @Override
    public long forgetNext(long now) {
        Level next = level.next();
        if (slot >= level.slots() && next != null) {
            level = next;
            slot = 0;
        }
        int last = Math.min(level.slots() - 1, slot + MOST_PASSED_OVER);
        while (slot < last && level.key(slot) == null) {
            slot++;
        }
        return forget(level, slot++, now);
    }

    private long forget(Level at, int index, long now) {
        if (at.key(index) == null) {
            return NOTHING;
        }
        SlotWord word = new SlotWord(shared, at, index);
        long seen = word.state();
        if (LongWord.isMark(seen)) {
            return seen == Level.ENTERING ? 1 : NOTHING;
        }
        long waitTicks = word.forget(seen, now);
        if (waitTicks == 0) {
            at.clear(index);
            places.release();
        }
        return waitTicks;
    }
}
