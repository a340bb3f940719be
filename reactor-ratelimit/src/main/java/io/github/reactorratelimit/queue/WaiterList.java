package io.github.reactorratelimit.queue;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Waiters in order of arrival; each can be removed in constant time. */
public final class WaiterList<W extends Waiter<?>> implements WaiterSet<W> {

    private @Nullable W first;
    private @Nullable W last;
    private int size;
    private long permits;
    private long mostPermits;

    @Override
    public @Nullable W first() {
        return first;
    }

    @Override
    public int size() {
        return size;
    }

    /** All waiters, in order of arrival. */
    public List<W> toList() {
        List<W> all = new ArrayList<>(size);
        for (W waiter = first; waiter != null; waiter = after(waiter)) {
            all.add(waiter);
        }
        return all;
    }

    /** What all of them need together. */
    long permits() {
        return permits;
    }

    /** No waiter needs more than this. */
    long mostPermits() {
        return mostPermits;
    }

    /** The waiter behind another. */
    @SuppressWarnings("unchecked")
    @Nullable
    W after(W waiter) {
        return (W) waiter.next;
    }

    @Override
    public void add(W waiter) {
        waiter.previous = last;
        if (last == null) {
            first = waiter;
        } else {
            last.next = waiter;
        }
        last = waiter;
        size++;
        permits += waiter.permits();
        mostPermits = size == 1 ? waiter.permits() : Math.max(mostPermits, waiter.permits());
    }

    @Override
    @SuppressWarnings("unchecked")
    public void remove(W waiter) {
        Waiter<?> before = waiter.previous;
        Waiter<?> after = waiter.next;
        if (before == null) {
            first = (W) after;
        } else {
            before.next = after;
        }
        if (after == null) {
            last = (W) before;
        } else {
            after.previous = before;
        }
        waiter.previous = null;
        waiter.next = null;
        size--;
        permits -= waiter.permits();
    }
}
