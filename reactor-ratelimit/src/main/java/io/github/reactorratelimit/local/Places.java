package io.github.reactorratelimit.local;

import java.util.concurrent.atomic.AtomicInteger;

/** Counts keys up to a bound: before they enter and after they left. */
final class Places {

    private final AtomicInteger taken = new AtomicInteger();
    private final int bound;

    Places(int bound) {
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

    /** Takes a place; false if there is none. */
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
