package io.github.reactorratelimit.local;

import java.util.concurrent.atomic.AtomicInteger;

/** Counts keys up to a bound: a place is reserved before a key enters, and released after it left. */
final class KeyCount {

    private final AtomicInteger taken = new AtomicInteger();
    private final int bound;

    KeyCount(int bound) {
        if (bound < 1) {
            throw new IllegalArgumentException("maxKeys must be positive, was " + bound);
        }
        this.bound = bound;
    }

    int bound() {
        return bound;
    }

    boolean hasRoom() {
        return taken.get() < bound;
    }

    /** Reserves a place; false if there is none. */
    boolean reserve() {
        for (; ; ) {
            int seen = taken.get();
            if (seen >= bound) {
                return false;
            }
            if (taken.compareAndSet(seen, seen + 1)) {
                return true;
            }
        }
    }

    void release() {
        taken.decrementAndGet();
    }

    int taken() {
        return taken.get();
    }
}
