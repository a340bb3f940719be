package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.queue.Waiter;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.TreeSet;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The waiters of a {@link ReservationQueue} that need the same number of permits, and the slots of that
 * number. Its drain loop's.
 */
final class SameCostQueue {

    /** In order of arrival; those that left are skipped. */
    private final Deque<Waiter<ReservingKey>> waiters = new ArrayDeque<>();

    private final TreeSet<Numbered> slots = new TreeSet<>(
            Comparator.<Numbered>comparingLong(one -> one.slot.order()).thenComparingLong(one -> one.number));

    private long number;

    /** Of {@link #waiters} those that have not left. */
    private int waiting;

    /** Reservations of waiters in flight. */
    int inFlight;

    /** Several slots may be for the same time. */
    private record Numbered(ReservingKey.Slot slot, long number) {}

    void join(Waiter<ReservingKey> waiter) {
        waiters.add(waiter);
        waiting++;
    }

    /** A waiter has left, or was answered. */
    void left() {
        waiting--;
        if (waiting == 0) {
            waiters.clear();
        }
    }

    /** True if it is not the last: then those before its waiter move up to it. */
    boolean add(ReservingKey.Slot slot) {
        Numbered added = new Numbered(slot, number++);
        slots.add(added);
        return slots.last().number != added.number;
    }

    boolean isEmpty() {
        return waiting == 0 && slots.isEmpty() && inFlight == 0;
    }

    /** Whether a waiter has neither a slot nor a reservation in flight. */
    boolean lacks() {
        return waiting > slots.size() + inFlight;
    }

    /** The last waiters, for which there is neither a slot nor a reservation in flight. */
    List<Waiter<ReservingKey>> lacking() {
        int count = waiting - slots.size() - inFlight;
        if (count <= 0) {
            return List.of();
        }
        waiters.removeIf(waiter -> !waiter.isLinked());
        List<Waiter<ReservingKey>> inOrder = List.copyOf(waiters);
        return inOrder.subList(inOrder.size() - count, inOrder.size());
    }

    boolean hasSurplus() {
        return slots.size() > waiting;
    }

    boolean hasSlots() {
        return !slots.isEmpty();
    }

    ReservingKey.@Nullable Slot first() {
        return slots.isEmpty() ? null : slots.first().slot;
    }

    ReservingKey.@Nullable Slot last() {
        return slots.isEmpty() ? null : slots.last().slot;
    }

    void removeFirst() {
        slots.pollFirst();
    }

    void removeLast() {
        slots.pollLast();
    }

    /** Removes and returns the first that has not left. */
    @Nullable
    Waiter<ReservingKey> poll() {
        Waiter<ReservingKey> first = waiters.poll();
        while (first != null && !first.isLinked()) {
            first = waiters.poll();
        }
        return first;
    }

    void forEachWaiter(Consumer<Waiter<ReservingKey>> action) {
        waiters.removeIf(waiter -> !waiter.isLinked());
        List.copyOf(waiters).forEach(action);
    }

    /** The waiters that will leave at a slot if nothing changes. */
    void forEachReserved(BiConsumer<Waiter<ReservingKey>, ReservingKey.Slot> action) {
        Iterator<Numbered> times = List.copyOf(slots).iterator();
        forEachWaiter(waiter -> {
            if (times.hasNext()) {
                action.accept(waiter, times.next().slot);
            }
        });
    }

    /** Gives back all slots, the last first: so each is at the tail of what was reserved. */
    void freeAll() {
        for (ReservingKey.Slot last = last(); last != null; last = last()) {
            removeLast();
            last.free();
        }
    }

    /**
     * Drops the slots that hold no longer; whether there were any. Looks at all of them if the first or the
     * last is one.
     */
    boolean dropVoid() {
        return !slots.isEmpty()
                && (slots.first().slot.isVoid() || slots.last().slot.isVoid())
                && slots.removeIf(one -> one.slot.isVoid());
    }

    /** The same, looking at all of them. */
    boolean dropAllVoid() {
        return slots.removeIf(one -> one.slot.isVoid());
    }
}
