package io.github.reactorratelimit.local;

import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/** The levels of a {@link LongKeyTable}, from the oldest to the newest: usually one. */
final class Levels {

    private static final int SPARE_SLOTS = 32;
    private static final int SHRINK_BY = 8;

    /** While nobody moves states, each is at least twice as large as the one before, so that there are never so many. */
    private static final int MOST_LEVELS = 32;

    private final LongWord.Shared shared;
    private final Places places;
    private final int mostSlots;
    private final int seed = ThreadLocalRandom.current().nextInt();
    private final Level.Rehash rehash = new Level.Rehash();
    private final AtomicBoolean growing = new AtomicBoolean();

    /** Written by the mover only. */
    private volatile Level oldest;

    Levels(LongWord.Shared shared, Places places) {
        this.shared = shared;
        this.places = places;
        this.mostSlots = (int) Math.min(Level.MAX_SLOTS, 2L * places.bound() + SPARE_SLOTS);
        this.oldest = new Level(rehash, Math.min(mostSlots, 2 * SPARE_SLOTS));
    }

    /** Spread over all bits, odd, and neither of the two that mark slots. */
    int hash(String key) {
        int hash = (key.hashCode() ^ seed) * 0x9E3779B1;
        hash = (hash ^ hash >>> 15) * 0x85EBCA77;
        return hash >>> 1 == 0 ? 3 : hash | 1;
    }

    Level oldest() {
        return oldest;
    }

    boolean areMoving() {
        return oldest.next() != null;
    }

    /** Whether a key has left the last level that it was in for a later one, after it was looked for in the next. */
    static boolean hasLeft(boolean left, int found) {
        return found == Level.LEFT || (found == Level.SHUT && left);
    }

    /** The key's slot, null if it has none. */
    @Nullable
    SlotWord find(String key, int hash) {
        boolean left = false;
        for (Level level = oldest; level != null; level = level.next()) {
            int found = level.locate(key, hash, left);
            if (found >= 0) {
                return new SlotWord(shared, level, found);
            }
            left = hasLeft(left, found);
        }
        return null;
    }

    /** The key's slot, taken by it if it had none; null if none is left. The caller has reserved a place. */
    @Nullable
    SlotWord take(String key, int hash) {
        boolean left = false;
        for (Level level = oldest; level != null; level = nextOrNew(level)) {
            growIfCrowded(level);
            int found = level.take(key, hash, left);
            if (found >= 0) {
                return new SlotWord(shared, level, found);
            }
            left = hasLeft(left, found);
        }
        return null;
    }

    /** A shadow for a key that is in {@code from}, in a later level; its slot there if it has one; null if none is left. */
    @Nullable
    SlotWord takeShadow(Level from, String key, int hash) {
        for (Level level = from.next(); level != null; level = nextOrNew(level)) {
            growIfCrowded(level);
            int found = level.takeShadow(key, hash);
            if (found >= 0) {
                return new SlotWord(shared, level, found);
            }
        }
        return null;
    }

    /** Called by the mover when every slot of the oldest is sealed or final. */
    void dropOldest() {
        Level next = oldest.next();
        if (next != null) {
            oldest = next;
        }
    }

    private void growIfCrowded(Level level) {
        if (level.next() == null && level.isCrowded() && growing.compareAndSet(false, true)) {
            try {
                grow(level);
            } finally {
                growing.set(false);
            }
        }
    }

    private @Nullable Level nextOrNew(Level level) {
        Level next = level.next();
        return next != null || level.isHalfEmpty() ? next : grow(level);
    }

    private @Nullable Level grow(Level newest) {
        if (newest.next() == null && count() < MOST_LEVELS) {
            newest.setNext(new Level(rehash, slotsAfter(newest)));
        }
        return newest.next();
    }

    /** The keys that are alive when it passes them, from the oldest level to the newest. */
    Iterator<String> keys() {
        return new Iterator<>() {
            private @Nullable Level level = oldest;
            private int slot;
            private @Nullable String next = advance();

            private @Nullable String advance() {
                for (; level != null; level = level.next(), slot = 0) {
                    while (slot < level.slots()) {
                        String key = level.key(slot++);
                        if (key != null) {
                            return key;
                        }
                    }
                }
                return null;
            }

            @Override
            public boolean hasNext() {
                return next != null;
            }

            @Override
            public String next() {
                String key = next;
                if (key == null) {
                    throw new NoSuchElementException();
                }
                next = advance();
                return key;
            }
        };
    }

    int count() {
        int count = 0;
        for (Level level = oldest; level != null; level = level.next()) {
            count++;
        }
        return count;
    }

    /** Three eighths full when all keys are in it; not so small that it is crowded before they are. */
    private int slotsAfter(Level newest) {
        long forKeys = places.taken() * 8L / 3 + SPARE_SLOTS;
        return (int) Math.min(mostSlots, Math.max(forKeys, newest.slots() / SHRINK_BY));
    }
}
