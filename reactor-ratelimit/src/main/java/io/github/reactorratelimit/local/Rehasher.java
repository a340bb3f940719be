package io.github.reactorratelimit.local;

import io.github.reactorratelimit.local.Cell.Shared;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Moves the states of the oldest table to later ones, a few slots at each call, evicts keys that may be evicted, and drops
 * the table when it is empty. One thread rehashes at a time. The others go on without and find keys in both tables.
 */
final class Rehasher {

    private static final int SLOTS_PER_CALL = 32;

    /** A key that other threads debit all the time is left for the next round. */
    private static final int ATTEMPTS = 8;

    private final Shared<Long> shared;
    private final SlotTables tables;
    private final KeyCount count;
    private final SlotTableCursor cursor;

    /** Held by the thread that evicts or rehashes. */
    private final AtomicBoolean busy;

    // Owned by the thread that holds busy.
    private int next;
    private boolean leftBehind;

    Rehasher(Shared<Long> shared, SlotTables tables, KeyCount count, SlotTableCursor cursor, AtomicBoolean busy) {
        this.shared = shared;
        this.tables = tables;
        this.count = count;
        this.cursor = cursor;
        this.busy = busy;
    }

    /** @param beginner gives a state to a key that is entering */
    void rehash(long now, BiConsumer<String, Cell<Long>> beginner) {
        if (!tables.areRehashed() || busy.get() || !busy.compareAndSet(false, true)) {
            return;
        }
        try {
            rehashSome(now, beginner);
        } finally {
            busy.set(false);
        }
    }

    private void rehashSome(long now, BiConsumer<String, Cell<Long>> beginner) {
        if (!tables.areRehashed()) {
            return;
        }
        SlotTable table = tables.oldest();
        int end = Math.min(table.slots(), next + SLOTS_PER_CALL);
        for (; next < end; next++) {
            String key = table.keyOrSeal(next);
            leftBehind |= key != null && !move(key, new ArraySlot(shared, table, next), now, beginner);
        }
        if (next == table.slots()) {
            if (!leftBehind) {
                cursor.leave(table);
                tables.dropOldest();
            }
            next = 0;
            leftBehind = false;
        }
    }

    /** Whether the slot is final now. */
    private boolean move(String key, ArraySlot from, long now, BiConsumer<String, Cell<Long>> beginner) {
        ArraySlot shadow = null;
        boolean moved = false;
        for (int i = 0; i < ATTEMPTS && !moved && !isFinal(from); i++) {
            if (from.isEntering()) {
                beginner.accept(key, from);
            } else if (from.evict(now) == 0) {
                count.release();
            } else {
                shadow = shadow == null ? shadowOf(key, from) : shadow;
                moved = shadow != null && moveTo(shadow, from);
            }
        }
        if (shadow != null && !moved) {
            shadow.table.clear(shadow.slot);
        }
        return isFinal(from);
    }

    /** Null if there is no slot for it, or if the key has one: then it was reset, and {@code from} is final. */
    private @Nullable ArraySlot shadowOf(String key, ArraySlot from) {
        ArraySlot found = tables.takeShadow(from.table, key, from.table.hash(from.slot));
        return found != null && found.isNew ? found : null;
    }

    /** No other thread sees the shadow before the state has moved. */
    private static boolean moveTo(ArraySlot shadow, ArraySlot from) {
        long state = from.table.state(from.slot);
        if (SlotTable.isMark(state)) {
            return false;
        }
        shadow.table.setState(shadow.slot, state);
        if (!from.table.swap(from.slot, state, SlotTable.MOVED)) {
            return false;
        }
        shadow.table.show(shadow.slot);
        return true;
    }

    private static boolean isFinal(ArraySlot slot) {
        long state = slot.table.state(slot.slot);
        return state == SlotTable.DEAD || state == SlotTable.MOVED;
    }
}
