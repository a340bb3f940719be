package io.github.reactorratelimit.waiting;

import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.TreeSet;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Those in a {@link BookedLine} who asked for the same number of permits, and the bookings of that number. The owner's. */
final class Lane {

    /** In order of arrival; those who left are skipped. */
    private final Deque<Waiter> waiters = new ArrayDeque<>();

    private final TreeSet<Numbered> bookings = new TreeSet<>(
            Comparator.<Numbered>comparingLong(one -> one.booking.order()).thenComparingLong(one -> one.number));

    private long number;

    /** Of {@link #waiters} those who have not left. */
    private int waiting;

    /** Of those who joined the wishes that were not answered yet. */
    int wishes;

    /** Several bookings may be for the same time. */
    private record Numbered(Booking booking, long number) {}

    void join(Waiter waiter) {
        waiters.add(waiter);
        waiting++;
    }

    /** Somebody who had joined has left, or was answered. */
    void left() {
        waiting--;
        if (waiting == 0) {
            waiters.clear();
        }
    }

    /** True if it is not the last: then those who came before its waiter move up to it. */
    boolean add(Booking booking) {
        Numbered added = new Numbered(booking, number++);
        bookings.add(added);
        return bookings.last().number != added.number;
    }

    boolean isEmpty() {
        return waiting == 0 && bookings.isEmpty() && wishes == 0;
    }

    /** Whether somebody has neither a booking nor a wish under way. */
    boolean lacks() {
        return waiting > bookings.size() + wishes;
    }

    /** Those who came last, for whom there is neither a booking nor a wish under way. */
    List<Waiter> lacking() {
        int count = waiting - bookings.size() - wishes;
        if (count <= 0) {
            return List.of();
        }
        waiters.removeIf(waiter -> !waiter.linked);
        List<Waiter> inOrder = List.copyOf(waiters);
        return inOrder.subList(inOrder.size() - count, inOrder.size());
    }

    boolean hasSurplus() {
        return bookings.size() > waiting;
    }

    @Nullable
    Booking first() {
        return bookings.isEmpty() ? null : bookings.first().booking;
    }

    @Nullable
    Booking last() {
        return bookings.isEmpty() ? null : bookings.last().booking;
    }

    void removeFirst() {
        bookings.pollFirst();
    }

    void removeLast() {
        bookings.pollLast();
    }

    /** The first who has not left, taken out. */
    @Nullable
    Waiter poll() {
        Waiter first = waiters.poll();
        while (first != null && !first.linked) {
            first = waiters.poll();
        }
        return first;
    }

    void forEachWaiter(Consumer<Waiter> action) {
        waiters.removeIf(waiter -> !waiter.linked);
        List.copyOf(waiters).forEach(action);
    }

    /** Whoever will leave by a booking if nothing changes. */
    void forEachBooked(BiConsumer<Waiter, Booking> action) {
        Iterator<Numbered> times = List.copyOf(bookings).iterator();
        forEachWaiter(waiter -> {
            if (times.hasNext()) {
                action.accept(waiter, times.next().booking);
            }
        });
    }

    /** Gives back all bookings, the last first: so each is at the tail of what was reserved. */
    void freeAll() {
        for (Booking last = last(); last != null; last = last()) {
            removeLast();
            last.free();
        }
    }

    /** Drops the bookings that hold no longer; whether there were any. */
    boolean dropVoid() {
        return bookings.removeIf(one -> one.booking.isVoid());
    }
}
