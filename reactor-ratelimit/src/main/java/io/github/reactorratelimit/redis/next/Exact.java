package io.github.reactorratelimit.redis.next;

import io.github.reactorratelimit.algorithm.Tick;

/** The integers that are exact in Redis, whose scripts count in doubles. */
final class Exact {

    private static final long BEYOND = Tick.MICROSECOND.exactBelow();

    private Exact() {}

    static boolean holds(long value) {
        return -BEYOND < value && value < BEYOND;
    }

    /** @throws IllegalArgumentException if it is not exact, naming it */
    static void check(String name, long value) {
        if (!holds(value)) {
            throw new IllegalArgumentException(name + " must lie below 2^53, was " + value);
        }
    }
}
