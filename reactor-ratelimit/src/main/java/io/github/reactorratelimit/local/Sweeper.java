package io.github.reactorratelimit.local;

import io.github.reactorratelimit.algorithm.Algorithm;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Makes room in a full table: a hand that goes round over the slots, a few at each call, and forgets
 * the cells for which that changes no decision. One thread sweeps at a time, the others go on without:
 * a flood of new keys costs each of them a bounded amount of work and nobody a wait. Calls that found
 * nothing make the next ones rarer, and after a round that found nothing there is none until the first
 * state is refilled.
 */
final class Sweeper {

    private static final int SLOTS_PER_CALL = 32;
    private static final int MOST_SKIPPED_CALLS = 31;

    private final BoundedSlots slots;
    private final AtomicBoolean busy = new AtomicBoolean();

    // Owned by the thread that holds busy.
    private Iterator<Map.Entry<String, Slot>> hand;
    private long earliestInRound = Long.MAX_VALUE;
    private boolean forgotInRound;
    private int fruitlessCalls;
    private int callsToSkip;

    /** No cell can be forgotten before this time, unless permits are given back. */
    private volatile long idleUntil = Long.MIN_VALUE;

    /** Whether permits were given back since the round began, maybe behind the hand. */
    private volatile boolean woken;

    Sweeper(BoundedSlots slots) {
        this.slots = slots;
        this.hand = slots.iterator();
    }

    void sweep(long now) {
        if (now < idleUntil || !busy.compareAndSet(false, true)) {
            return;
        }
        try {
            if (callsToSkip > 0) {
                callsToSkip--;
            } else {
                moveHand(now);
            }
        } finally {
            busy.set(false);
        }
    }

    /** A cell may be forgettable earlier than its state told. */
    void wake() {
        if (!woken) {
            woken = true;
        }
        if (idleUntil != Long.MIN_VALUE) {
            idleUntil = Long.MIN_VALUE;
        }
    }

    private void moveHand(long now) {
        if (!hand.hasNext()) {
            woken = false;
            hand = slots.iterator();
        }
        boolean forgot = false;
        for (int visited = 0; visited < SLOTS_PER_CALL && hand.hasNext(); visited++) {
            forgot |= visit(hand.next(), now);
        }
        forgotInRound |= forgot;
        fruitlessCalls = forgot ? 0 : Math.min(2 * fruitlessCalls + 1, MOST_SKIPPED_CALLS);
        callsToSkip = fruitlessCalls;
        if (!hand.hasNext()) {
            endRound();
        }
    }

    private boolean visit(Map.Entry<String, Slot> entry, long now) {
        if (!(entry.getValue() instanceof Cell cell)) {
            earliestInRound = Math.min(earliestInRound, retryAt(now, 1));
            return false;
        }
        long waitTicks = cell.forget(now);
        if (waitTicks == 0) {
            slots.remove(entry.getKey(), cell);
            return true;
        }
        earliestInRound = Math.min(earliestInRound, retryAt(now, waitTicks));
        return false;
    }

    private static long retryAt(long now, long waitTicks) {
        if (waitTicks == Algorithm.UNKNOWN) {
            return now;
        }
        long at = now + waitTicks;
        return at < now ? Long.MAX_VALUE : at;
    }

    private void endRound() {
        boolean again = forgotInRound || earliestInRound == Long.MAX_VALUE;
        idleUntil = again ? Long.MIN_VALUE : earliestInRound;
        // Read after the write: whoever wakes writes the other way round.
        if (woken) {
            idleUntil = Long.MIN_VALUE;
        }
        earliestInRound = Long.MAX_VALUE;
        forgotInRound = false;
        callsToSkip = 0;
    }
}
