package io.github.reactorratelimit.local;

import io.github.reactorratelimit.local.Cell.Shared;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * The {@link SlotTable tables} of an {@link ArraySlots}, from the oldest to the newest: usually one.
 *
 * <p><b>Growing.</b> In a table a slot belongs to one key for good. So a CAS of a thread that was held up hits the key it was
 * meant for or, if the slot is final, nothing. Slots are used up, also by keys that return after an eviction. When a table
 * is crowded, a new one of a size that fits is put behind it, new keys go there, and the {@link Rehasher} moves the rest,
 * until the old one can be dropped. Keys are looked up from the oldest table to the newest.
 *
 * <p><b>A key is alive in one table at most.</b> In each table a key's slots are tried in one order, and it may only take the
 * first that is available; none becomes available again. A thread that wants to take a slot reads that it is available, then
 * that there is no later table, and takes it by CAS. A thread that sees a later table seals the first available slot by CAS
 * before it takes one there. So of two threads, one of which has not seen the new table, one loses the CAS and finds the
 * key, or finds that it must follow. A thread that leaves a table has seen that all the key's slots there are final and that
 * there will be no others; this does not change any more. By induction over the tables, a key that takes a slot is alive in
 * no older one.
 *
 * <p><b>Rehashing.</b> One thread at a time rehashes. It takes a slot in a later table by the same rules, but as a shadow: with
 * a hash that no thread looks for. It writes the state there, and then swaps it in the old slot for the mark MOVED. If that
 * CAS fails, it writes the new state to the shadow and tries again. If it succeeds, the shadow holds the state as of that
 * very moment, and no thread can have touched it. Then it is shown: by the rehashing thread, or by the first that finds MOVED
 * before that. There is no moment at which the state is nowhere, and no thread waits.
 *
 * <p><b>Which shadow may be shown.</b> A reset may kill the old slot while a shadow is being made, and that shadow must never
 * be seen: its mark is DEAD. A key's lives follow each other in the order in which they are looked up, and a shadow is made
 * of the last. A thread that left a table with all its slots for the key final has seen that last life, or the key was
 * evicted, which only the rehashing thread does, with no shadow in the making. So if the last mark seen is MOVED, a shadow of
 * the key further on holds its state. If it is DEAD, or if the key could still enter the table in between, it does not and is
 * passed over. The rehashing thread clears a shadow that it does not use before it makes another.
 *
 * <p><b>The bound</b> counts keys, not slots: a place is reserved before a slot is taken, goes along when a state moves, and is
 * released by the thread that evicts the key. A reset passes the place of the slot that it killed on to the fresh one. There
 * are at most two slots and some for each key of the bound, twice that while states are moved.
 */
final class SlotTables {

    private static final int SPARE_SLOTS = 32;
    private static final int SHRINK_BY = 8;

    /** While no thread rehashes, each is at least twice as large as the one before: there are never so many. */
    private static final int MOST_TABLES = 32;

    private final Shared<Long> shared;
    private final KeyCount count;
    private final int mostSlots;
    private final int seed = ThreadLocalRandom.current().nextInt();
    private final KeyedHash rehash = new KeyedHash();
    private final AtomicBoolean growing = new AtomicBoolean();

    /** Written by the rehashing thread only. */
    private volatile SlotTable oldest;

    SlotTables(Shared<Long> shared, KeyCount count) {
        this.shared = shared;
        this.count = count;
        this.mostSlots = (int) Math.min(SlotTable.MAX_SLOTS, 2L * count.bound() + SPARE_SLOTS);
        this.oldest = new SlotTable(rehash, Math.min(mostSlots, 2 * SPARE_SLOTS));
    }

    /** Spread over all bits, odd, and neither of the two that mark slots. */
    int hash(String key) {
        int hash = (key.hashCode() ^ seed) * 0x9E3779B1;
        hash = (hash ^ hash >>> 15) * 0x85EBCA77;
        return hash >>> 1 == 0 ? 3 : hash | 1;
    }

    SlotTable oldest() {
        return oldest;
    }

    boolean areRehashed() {
        return oldest.next() != null;
    }

    /** Whether a key has left the last table that it was in for a later one, after it was looked for in the next. */
    static boolean hasLeft(boolean left, int found) {
        return found == SlotTable.LEFT || (found == SlotTable.SHUT && left);
    }

    /** The key's slot, null if it has none. */
    @Nullable
    ArraySlot find(String key, int hash) {
        boolean left = false;
        for (SlotTable table = oldest; table != null; table = table.next()) {
            int found = table.locate(key, hash, left);
            if (found >= 0) {
                return new ArraySlot(shared, table, found);
            }
            left = hasLeft(left, found);
        }
        return null;
    }

    /** The key's slot, taken by it if it had none; null if none is left. The caller has reserved a place. */
    @Nullable
    ArraySlot take(String key, int hash) {
        boolean left = false;
        for (SlotTable table = oldest; table != null; table = nextOrNew(table)) {
            growIfCrowded(table);
            int found = table.take(key, hash, left);
            if (found >= 0) {
                return new ArraySlot(shared, table, found);
            }
            left = hasLeft(left, found);
        }
        return null;
    }

    /** A shadow for a key that is in {@code from}, in a later table; its slot there if it has one; null if none is left. */
    @Nullable
    ArraySlot takeShadow(SlotTable from, String key, int hash) {
        for (SlotTable table = from.next(); table != null; table = nextOrNew(table)) {
            growIfCrowded(table);
            int found = table.takeShadow(key, hash);
            if (found >= 0) {
                return new ArraySlot(shared, table, found);
            }
        }
        return null;
    }

    /** Called by the rehashing thread when every slot of the oldest is sealed or final. */
    void dropOldest() {
        SlotTable next = oldest.next();
        if (next != null) {
            oldest = next;
        }
    }

    private void growIfCrowded(SlotTable table) {
        if (table.next() == null && table.isCrowded() && growing.compareAndSet(false, true)) {
            try {
                grow(table);
            } finally {
                growing.set(false);
            }
        }
    }

    private @Nullable SlotTable nextOrNew(SlotTable table) {
        SlotTable next = table.next();
        return next != null || table.isHalfEmpty() ? next : grow(table);
    }

    private @Nullable SlotTable grow(SlotTable newest) {
        if (newest.next() == null && count() < MOST_TABLES) {
            newest.setNext(new SlotTable(rehash, slotsAfter(newest)));
        }
        return newest.next();
    }

    /** The keys that are alive when it passes them, from the oldest table to the newest. */
    Iterator<String> keys() {
        return new Iterator<>() {
            private @Nullable SlotTable table = oldest;
            private int slot;
            private @Nullable String next = advance();

            private @Nullable String advance() {
                for (; table != null; table = table.next(), slot = 0) {
                    while (slot < table.slots()) {
                        String key = table.key(slot++);
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
        for (SlotTable table = oldest; table != null; table = table.next()) {
            count++;
        }
        return count;
    }

    /** Three eighths full when all keys are in it; not so small that it is crowded before they are. */
    private int slotsAfter(SlotTable newest) {
        long forKeys = count.taken() * 8L / 3 + SPARE_SLOTS;
        return (int) Math.min(mostSlots, Math.max(forKeys, newest.slots() / SHRINK_BY));
    }
}
