package io.github.reactorratelimit.local;

import org.jspecify.annotations.Nullable;

/** A slot of a {@link SlotTable} as a cell. */
final class ArraySlot extends Cell<Long> {

    final SlotTable table;
    final int slot;

    /** Whether the key got the slot just now, so that its place in the table is used up. */
    final boolean isNew;

    /** @param found a slot, with {@link SlotTable#TAKEN} added if the key has just got it */
    ArraySlot(Shared<Long> shared, SlotTable table, int found) {
        super(shared);
        this.table = table;
        this.slot = found & ~SlotTable.TAKEN;
        this.isNew = (found & SlotTable.TAKEN) != 0;
    }

    @Override
    @Nullable
    Long state() {
        long seen = table.state(slot);
        if (SlotTable.isMark(seen)) {
            return null;
        }
        Long fresh = shared.fresh();
        return seen == fresh ? fresh : Long.valueOf(seen);
    }

    @Override
    boolean swap(Long seen, Long next) {
        return table.swap(slot, seen, next);
    }

    @Override
    boolean swapDead(Long seen) {
        return table.swap(slot, seen, SlotTable.DEAD);
    }

    @Override
    boolean isEntering() {
        return table.state(slot) == SlotTable.ENTERING;
    }

    @Override
    long from(Long seen, long at) {
        return isFresh(seen) ? shared.horizon().notBefore(at) : at;
    }

    /** The table may move the state: the snapshot stays. */
    @Override
    @Nullable
    Cell<Long> snapshot() {
        Long seen = state();
        return seen == null ? null : ObjectCell.toRead(shared, seen);
    }
}
