package io.github.reactorratelimit.local;

import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Algorithms;
import io.github.reactorratelimit.algorithm.Projection;
import io.github.reactorratelimit.algorithm.Reading;

/** The keys of one policy in this process; every method is one atomic step on one key and never blocks. */
abstract class KeyTable {

    static KeyTable of(RateLimitPolicy policy, Algorithms.Clock clock, int maxKeys) {
        throw new UnsupportedOperationException();
    }

    /** Takes permits as of {@code at}: 0 if taken, else the ticks to wait; the state is untouched then. Allocates nothing for known keys where the state is a long. */
    abstract long tryDebit(String key, long at, long permits);

    /** Like {@link #tryDebit}, with what the decision reports: {@link Reading#allowed()} tells whether permits were taken. */
    abstract Reading debit(String key, long at, long permits);

    /** Looks without taking. */
    abstract Reading read(String key, long now, long permits);

    /** The ticks to wait as of {@code at}, without taking. */
    abstract long waitTicks(String key, long at, long permits);

    /** Gives back permits that were debited at {@code debitedAt}. */
    abstract void refund(String key, long now, long debitedAt, long permits);

    /** Takes as many of the permits as are there: what was spent under another policy. */
    abstract void charge(String key, long now, long permits);

    /** Forgets what the key spent. */
    abstract void reset(String key);

    /** What lies ahead of the key. */
    abstract Projection<?> projection(String key, long now);

    /** Keys in the table, overflow cells apart. */
    abstract int size();
}
