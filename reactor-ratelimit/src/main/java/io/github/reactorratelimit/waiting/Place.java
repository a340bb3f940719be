package io.github.reactorratelimit.waiting;

import io.github.reactorratelimit.Debit;

/** Where a waiter asks: at the desk of its key, in the room of its limiter. */
interface Place {

    /** The waiter is wanted now, on the subscriber's own thread: answer it at once or let it join a line. */
    void ask(Waiter waiter);

    /** A waiter that may stand in line is not wanted any more. */
    void leave(Waiter waiter);

    /** A waiter that stood in line is being told that it was granted what this took. */
    default void told(Debit debit) {}

    /** The time, on the clock of the desk. */
    long now();

    /** Gives back what was handed over but not used. */
    void giveBack(Debit debit);
}
