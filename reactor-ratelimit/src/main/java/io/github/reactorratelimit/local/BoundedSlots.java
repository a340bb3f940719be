package io.github.reactorratelimit.local;

import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * A map of slots that never holds more than its bound. The only class that knows how slots are found;
 * every change of a slot is one atomic step.
 */
final class BoundedSlots {

    private final ConcurrentHashMap<String, Slot> slots = new ConcurrentHashMap<>();

    /** Slots in the map and those reserved for it. */
    private final Places places;

    BoundedSlots(int bound) {
        this.places = new Places(bound);
    }

    @Nullable
    Slot get(String key) {
        return slots.get(key);
    }

    boolean hasRoom() {
        return places.hasRoom();
    }

    /** Adds the key if it is absent and there is room. */
    boolean add(String key, Slot slot) {
        if (!places.reserve()) {
            return false;
        }
        if (slots.putIfAbsent(key, slot) == null) {
            return true;
        }
        places.release();
        return false;
    }

    boolean replace(String key, Slot seen, Slot next) {
        return slots.replace(key, seen, next);
    }

    void remove(String key, Slot seen) {
        if (slots.remove(key, seen)) {
            places.release();
        }
    }

    /** Visits slots in an order of its own; sees those that stay throughout exactly once. */
    Iterator<Map.Entry<String, Slot>> iterator() {
        return slots.entrySet().iterator();
    }

    Iterator<String> keys() {
        return slots.keySet().iterator();
    }

    int size() {
        return places.taken();
    }

    Sweeper.Hand hand() {
        return new MapHand();
    }

    private final class MapHand implements Sweeper.Hand {

        private Iterator<Map.Entry<String, Slot>> entries = iterator();

        @Override
        public int slotsPerCall() {
            return 32;
        }

        @Override
        public void restart() {
            entries = iterator();
        }

        @Override
        public boolean hasNext() {
            return entries.hasNext();
        }

        @Override
        public long forgetNext(long now) {
            Map.Entry<String, Slot> entry = entries.next();
            if (!(entry.getValue() instanceof Cell cell)) {
                return 1;
            }
            long waitTicks = cell.forget(now);
            if (waitTicks == 0) {
                remove(entry.getKey(), cell);
            }
            return waitTicks;
        }
    }
}
