package io.github.reactorratelimit.waiting;

import java.util.Comparator;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** The waiters of a line in order of arrival; anyone can leave in constant time. Owned by the line's drain loop. */
final class WaiterList {

    private @Nullable Waiter first;
    private @Nullable Waiter last;
    private int size;
    private long permits;
    private long sequence;

    /** Those whose turn nobody can foretell, by the time their patience ends. */
    private final TreeSet<Waiter> expiring = new TreeSet<>(
            Comparator.<Waiter>comparingLong(waiter -> waiter.notAfter).thenComparingLong(waiter -> waiter.sequence));

    @Nullable
    Waiter first() {
        return first;
    }

    int size() {
        return size;
    }

    /** What all of them ask for together. */
    long permits() {
        return permits;
    }

    void add(Waiter waiter) {
        waiter.sequence = sequence++;
        waiter.linked = true;
        waiter.previous = last;
        if (last == null) {
            first = waiter;
        } else {
            last.next = waiter;
        }
        last = waiter;
        size++;
        permits += waiter.permits;
    }

    void remove(Waiter waiter) {
        Waiter before = waiter.previous;
        Waiter after = waiter.next;
        if (before == null) {
            first = after;
        } else {
            before.next = after;
        }
        if (after == null) {
            last = before;
        } else {
            after.previous = before;
        }
        waiter.previous = null;
        waiter.next = null;
        waiter.linked = false;
        size--;
        permits -= waiter.permits;
        expiring.remove(waiter);
    }

    /** Lets {@link #impatient} find a member when its time is up. */
    void watch(Waiter waiter) {
        expiring.add(waiter);
    }

    /** The watched member whose patience ends first. */
    @Nullable
    Waiter impatient() {
        return expiring.isEmpty() ? null : expiring.first();
    }
}
