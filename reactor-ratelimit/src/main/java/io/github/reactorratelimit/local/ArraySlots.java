package io.github.reactorratelimit.local;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.LongAlgorithm;
import io.github.reactorratelimit.local.Cell.Outcome;
import io.github.reactorratelimit.local.Cell.Shared;
import java.util.Iterator;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** Cells in arrays, one long for each: {@link SlotTables} says how a key finds its slot, and how the arrays grow. */
final class ArraySlots implements Slots<Long> {

    private final Shared<Long> shared;
    private final LongAlgorithm steps;
    private final FastPath fastPath;
    private final KeyCount count;
    private final SlotTables tables;
    private final Evictor evictor;
    private final Rehasher rehasher;

    ArraySlots(LongAlgorithm steps, Shared<Long> shared, int maxKeys) {
        this.shared = shared;
        this.steps = steps;
        this.fastPath = new FastPath(steps, shared.horizon());
        this.count = new KeyCount(Math.min(maxKeys, SlotTable.MAX_SLOTS / 3));
        this.tables = new SlotTables(shared, count);
        AtomicBoolean busy = new AtomicBoolean();
        SlotTableCursor cursor = new SlotTableCursor(shared, tables, count);
        this.evictor = new Evictor(cursor, busy);
        this.rehasher = new Rehasher(shared, tables, count, cursor, busy);
    }

    SlotTables tables() {
        return tables;
    }

    @Override
    public Outcome tryTake(String key, long at, long permits) {
        SlotTable oldest = tables.oldest();
        int slot = oldest.find(key, tables.hash(key));
        return slot < 0 ? Outcome.GONE : fastPath.tryTake(oldest, slot, at, permits);
    }

    @Override
    public @Nullable Decision denial(String key, long at, long permits) {
        SlotTable oldest = tables.oldest();
        int slot = oldest.find(key, tables.hash(key));
        return slot < 0 ? null : fastPath.denial(oldest.state(slot), at, permits);
    }

    @Override
    public @Nullable ArraySlot find(String key) {
        return tables.find(key, tables.hash(key));
    }

    @Override
    public boolean enter(String key) {
        return count.reserve() && take(key) != null;
    }

    /** The key's slot, new if it had none; null if none is left. Releases the reserved place if it is not needed. */
    private @Nullable ArraySlot take(String key) {
        ArraySlot taken = tables.take(key, tables.hash(key));
        if (taken == null || !taken.isNew) {
            count.release();
        }
        return taken;
    }

    @Override
    public void begin(String key, Cell<Long> entering, ObjectCell<Long> start) {
        begin((ArraySlot) entering, start.stateOrFresh());
    }

    private static boolean begin(ArraySlot entering, long state) {
        return entering.table.swap(entering.slot, SlotTable.ENTERING, state);
    }

    @Override
    public void leave(String key, Cell<Long> entering) {
        if (begin((ArraySlot) entering, SlotTable.DEAD)) {
            count.release();
        }
    }

    /** The place of the killed slot goes to the next. */
    @Override
    public void restart(String key, Cell<Long> killed) {
        ArraySlot taken = take(key);
        if (taken != null && taken.isNew) {
            begin(taken, shared.fresh());
        }
    }

    @Override
    public Evictor evictor() {
        return evictor;
    }

    @Override
    public void rehash(long now, BiConsumer<String, Cell<Long>> beginner) {
        rehasher.rehash(now, beginner);
    }

    @Override
    public boolean changeTo(RateLimitPolicy policy) {
        return steps.changeTo(policy);
    }

    @Override
    public Iterator<String> keys() {
        return tables.keys();
    }

    @Override
    public boolean hasRoom() {
        return count.hasRoom();
    }

    @Override
    public int size() {
        return count.taken();
    }
}
