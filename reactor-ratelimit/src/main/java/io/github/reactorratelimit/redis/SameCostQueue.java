package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.queue.Waiter;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The waiters of a {@link ReservationQueue} that need the same number of permits, and the slots of that
 * number. Its drain loop's.
 */
final class SameCostQueue {

    /** In order of arrival. */
    final Set<Waiter<ReservingKey>> waiters = new LinkedHashSet<>();

    /** In the order of their times. */
    private final List<ReservingKey.Slot> slots = new ArrayList<>();

    /** Reservations of waiters in flight. */
    int inFlight;

    /** True if it is not the last: then those before its waiter move up to it. */
    boolean add(ReservingKey.Slot slot) {
        int index = slots.size();
        while (index > 0 && slots.get(index - 1).order() > slot.order()) {
            index--;
        }
        slots.add(index, slot);
        return index < slots.size() - 1;
    }

    boolean isEmpty() {
        return waiters.isEmpty() && slots.isEmpty() && inFlight == 0;
    }

    /** How many waiters have neither a slot nor a reservation in flight. */
    int missing() {
        return Math.max(0, waiters.size() - slots.size() - inFlight);
    }

    /** The last waiters, for which there is neither a slot nor a reservation in flight. */
    List<Waiter<ReservingKey>> lacking() {
        return waiters.stream().skip(waiters.size() - missing()).toList();
    }

    boolean hasSlots() {
        return !slots.isEmpty();
    }

    ReservingKey.@Nullable Slot first() {
        return slots.isEmpty() ? null : slots.get(0);
    }

    ReservingKey.@Nullable Slot last() {
        return slots.isEmpty() ? null : slots.get(slots.size() - 1);
    }

    void removeFirst() {
        slots.remove(0);
    }

    /** The waiters that will leave at a slot if nothing changes. */
    void forEachReserved(BiConsumer<Waiter<ReservingKey>, ReservingKey.Slot> action) {
        List<Waiter<ReservingKey>> reserved =
                waiters.stream().limit(slots.size()).toList();
        List<ReservingKey.Slot> theirs = List.copyOf(slots);
        for (int i = 0; i < reserved.size(); i++) {
            action.accept(reserved.get(i), theirs.get(i));
        }
    }

    /** Gives back the last slots, the very last first: so each is at the tail of what was reserved. */
    void freeAllBut(int kept) {
        while (slots.size() > kept) {
            slots.remove(slots.size() - 1).free();
        }
    }

    /**
     * Drops the slots that hold no longer; whether there were any. Looks at all of them if the first or the
     * last is one.
     */
    boolean dropVoid() {
        return !slots.isEmpty()
                && (slots.get(0).isVoid() || slots.get(slots.size() - 1).isVoid())
                && dropAllVoid();
    }

    /** The same, looking at all of them. */
    boolean dropAllVoid() {
        return slots.removeIf(ReservingKey.Slot::isVoid);
    }
}
