package io.github.reactorratelimit.local;

import io.github.reactorratelimit.local.Cell.Shared;

/** Goes over the slots of all tables, the oldest first. Used by one thread at a time. */
final class SlotTableCursor implements EvictionCursor {

    private static final int SLOTS_PER_CALL = 32;

    /** Empty slots are passed over, but not too many at once. */
    private static final int MOST_PASSED_OVER = 3;

    private final Shared<Long> shared;
    private final SlotTables tables;
    private final KeyCount count;
    private SlotTable table;
    private int slot;

    SlotTableCursor(Shared<Long> shared, SlotTables tables, KeyCount count) {
        this.shared = shared;
        this.tables = tables;
        this.count = count;
        this.table = tables.oldest();
    }

    @Override
    public int slotsPerCall() {
        return SLOTS_PER_CALL;
    }

    @Override
    public void restart() {
        table = tables.oldest();
        slot = 0;
    }

    /** Called before a table is dropped: the cursor must not keep it from the garbage collector. */
    void leave(SlotTable dropped) {
        SlotTable next = dropped.next();
        if (table == dropped && next != null) {
            table = next;
            slot = 0;
        }
    }

    @Override
    public boolean hasNext() {
        return slot < table.slots() || table.next() != null;
    }

    @Override
    public long evictNext(long now) {
        SlotTable next = table.next();
        if (slot >= table.slots() && next != null) {
            table = next;
            slot = 0;
        }
        int last = Math.min(table.slots() - 1, slot + MOST_PASSED_OVER);
        while (slot < last && table.key(slot) == null) {
            slot++;
        }
        return evict(table, slot++, now);
    }

    private long evict(SlotTable from, int index, long now) {
        if (from.key(index) == null) {
            return Cell.NOTHING;
        }
        long waitTicks = new ArraySlot(shared, from, index).evict(now);
        if (waitTicks == 0) {
            from.clear(index);
            count.release();
        }
        return waitTicks;
    }
}
