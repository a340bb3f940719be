package io.github.reactorratelimit.queue;

import org.jspecify.annotations.Nullable;

/** The waiters of one queue and their order. Owned by the queue's drain loop. */
public interface WaiterSet<W> {

    /** Adds a waiter. */
    void add(W waiter);

    /** Removes a waiter, from anywhere. */
    void remove(W waiter);

    /** The head: the waiter that is next. */
    @Nullable
    W first();

    /** How many there are. */
    int size();
}
