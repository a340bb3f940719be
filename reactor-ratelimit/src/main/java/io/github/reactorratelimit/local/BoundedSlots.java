package io.github.reactorratelimit.local;

import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * A map of slots that never holds more than its bound. The only class that knows how slots are found;
 * every change of a slot is one atomic step.
 */
final class BoundedSlots {

    private final ConcurrentHashMap<String, Slot> slots = new ConcurrentHashMap<>();

    /** Slots in the map and those reserved for it: counted before they enter and after they left. */
    private final AtomicInteger places = new AtomicInteger();

    private final int bound;

    BoundedSlots(int bound) {
        if (bound < 1) {
            throw new IllegalArgumentException("maxKeys must be positive, was " + bound);
        }
        this.bound = bound;
    }

    @Nullable
    Slot get(String key) {
        return slots.get(key);
    }

    boolean hasRoom() {
        return places.get() < bound;
    }

    /** Adds the key if it is absent and there is room. */
    boolean add(String key, Slot slot) {
        if (!reserve()) {
            return false;
        }
        if (slots.putIfAbsent(key, slot) == null) {
            return true;
        }
        places.decrementAndGet();
        return false;
    }

    private boolean reserve() {
        for (; ; ) {
            int taken = places.get();
            if (taken >= bound) {
                return false;
            }
            if (places.compareAndSet(taken, taken + 1)) {
                return true;
            }
        }
    }

    boolean replace(String key, Slot seen, Slot next) {
        return slots.replace(key, seen, next);
    }

    void remove(String key, Slot seen) {
        if (slots.remove(key, seen)) {
            places.decrementAndGet();
        }
    }

    /** Visits slots in an order of its own; sees those that stay throughout exactly once. */
    Iterator<Map.Entry<String, Slot>> iterator() {
        return slots.entrySet().iterator();
    }

    int size() {
        return places.get();
    }
}
