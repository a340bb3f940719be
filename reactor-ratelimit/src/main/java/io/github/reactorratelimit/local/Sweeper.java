package io.github.reactorratelimit.local;

import io.github.reactorratelimit.algorithm.Algorithm;
import java.util.Collections;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Makes room in a full table: a hand that goes round over the slots, a few at each call, and forgets
 * the cells for which that changes no decision. One thread sweeps at a time, the others go on without:
 * a flood of new keys costs each of them a bounded amount of work and nobody a wait.
 */
final class Sweeper {

    /** Slots visited by one call. */
    static final int STRIDE = 32;

    private final BoundedSlots slots;
    private final AtomicBoolean busy = new AtomicBoolean();

    // Owned by the thread that holds busy.
    private Iterator<Map.Entry<String, Slot>> hand = Collections.emptyIterator();
    private long earliestInRound;
    private boolean forgotInRound = true;

    /** No cell can be forgotten before this time, unless permits are given back. */
    private volatile long idleUntil = Long.MIN_VALUE;

    Sweeper(BoundedSlots slots) {
        this.slots = slots;
    }

    void sweep(long now) {
        if (now < idleUntil || !busy.compareAndSet(false, true)) {
            return;
        }
        try {
            for (int visited = 0; visited < STRIDE && handHasNext(now); visited++) {
                visit(hand.next(), now);
            }
        } finally {
            busy.set(false);
        }
    }

    /** A cell may be forgettable earlier than its state told. */
    void wake() {
        if (idleUntil != Long.MIN_VALUE) {
            idleUntil = Long.MIN_VALUE;
        }
    }

    private boolean handHasNext(long now) {
        if (hand.hasNext()) {
            return true;
        }
        idleUntil = forgotInRound ? Long.MIN_VALUE : earliestInRound;
        earliestInRound = Long.MAX_VALUE;
        forgotInRound = false;
        hand = slots.iterator();
        return now >= idleUntil && hand.hasNext();
    }

    private void visit(Map.Entry<String, Slot> entry, long now) {
        if (!(entry.getValue() instanceof Cell cell)) {
            return;
        }
        long waitTicks = cell.forget(now);
        if (waitTicks == 0) {
            slots.remove(entry.getKey(), cell);
            forgotInRound = true;
        } else {
            earliestInRound = Math.min(earliestInRound, retryAt(now, waitTicks));
        }
    }

    private static long retryAt(long now, long waitTicks) {
        if (waitTicks == Algorithm.UNKNOWN) {
            return now;
        }
        long at = now + waitTicks;
        return at < now ? Long.MAX_VALUE : at;
    }
}
