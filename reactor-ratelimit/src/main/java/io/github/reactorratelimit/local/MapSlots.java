package io.github.reactorratelimit.local;

import io.github.reactorratelimit.local.Cell.Outcome;
import io.github.reactorratelimit.local.Cell.Shared;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * Cells in a map, for states that are objects. A dead cell keeps its place in the count until it is removed or replaced
 * by the next cell of its key.
 */
final class MapSlots<S> implements Slots<S> {

    private static final int CELLS_PER_CALL = 32;

    private final ConcurrentHashMap<String, ObjectCell<S>> cells = new ConcurrentHashMap<>();
    private final Shared<S> shared;

    /** Cells in the map and those reserved for it. */
    private final KeyCount count;

    private final Evictor evictor = new Evictor(new MapCursor(), new AtomicBoolean());

    MapSlots(Shared<S> shared, int bound) {
        this.shared = shared;
        this.count = new KeyCount(bound);
    }

    @Override
    public Outcome tryTake(String key, long at, long permits) {
        Cell<S> cell = cells.get(key);
        return cell == null ? Outcome.GONE : cell.tryTake(at, permits);
    }

    @Override
    public @Nullable Cell<S> find(String key) {
        Cell<S> cell = cells.get(key);
        return cell == null || isDead(cell) ? null : cell;
    }

    private static boolean isDead(Cell<?> cell) {
        return cell.state() == null && !cell.isEntering();
    }

    @Override
    public boolean enter(String key) {
        ObjectCell<S> seen = cells.get(key);
        if (seen != null) {
            if (isDead(seen)) {
                cells.replace(key, seen, ObjectCell.entering(shared));
            }
            return true;
        }
        if (!count.reserve()) {
            return false;
        }
        if (cells.putIfAbsent(key, ObjectCell.entering(shared)) != null) {
            count.release();
        }
        return true;
    }

    @Override
    public void begin(String key, Cell<S> entering, ObjectCell<S> start) {
        cells.replace(key, (ObjectCell<S>) entering, start.copy());
    }

    @Override
    public void leave(String key, Cell<S> cell) {
        if (cells.remove(key, cell)) {
            count.release();
        }
    }

    @Override
    public void restart(String key, Cell<S> killed) {
        cells.replace(key, (ObjectCell<S>) killed, ObjectCell.fresh(shared));
    }

    @Override
    public Evictor evictor() {
        return evictor;
    }

    @Override
    public Iterator<String> keys() {
        return cells.keySet().iterator();
    }

    @Override
    public boolean hasRoom() {
        return count.hasRoom();
    }

    @Override
    public int size() {
        return count.taken();
    }

    private final class MapCursor implements EvictionCursor {

        private Iterator<Map.Entry<String, ObjectCell<S>>> entries =
                cells.entrySet().iterator();

        @Override
        public int slotsPerCall() {
            return CELLS_PER_CALL;
        }

        @Override
        public void restart() {
            entries = cells.entrySet().iterator();
        }

        @Override
        public boolean hasNext() {
            return entries.hasNext();
        }

        @Override
        public long evictNext(long now) {
            Map.Entry<String, ObjectCell<S>> entry = entries.next();
            long waitTicks = entry.getValue().evict(now);
            if (waitTicks <= 0) {
                leave(entry.getKey(), entry.getValue());
            }
            return waitTicks;
        }
    }
}
