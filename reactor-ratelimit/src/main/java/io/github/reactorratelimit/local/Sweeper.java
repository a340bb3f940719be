package io.github.reactorratelimit.local;

import io.github.reactorratelimit.algorithm.Algorithm;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Makes room in a full table: a hand that goes round over the slots, a few at each call, and forgets
 * the cells for which that changes no decision. One thread sweeps at a time, the others go on without:
 * a flood of new keys costs each of them a bounded amount of work and nobody a wait. Calls that found
 * nothing make the next ones rarer, and after a round that found nothing there is none until the first
 * state is refilled.
 */
final class Sweeper {

    private static final int MOST_SKIPPED_CALLS = 31;

    /** What goes over the slots; sees those that stay throughout a round exactly once. */
    interface Hand {

        /** There was nothing to forget or to wait for in the slot. */
        long NOTHING = -1;

        /** How many slots it may visit at a call. */
        int slotsPerCall();

        void restart();

        boolean hasNext();

        /**
         * Visits a slot, and forgets its key if that changes no decision.
         *
         * @return 0 if forgotten, {@link #NOTHING}, or else the ticks until it may be worth trying again
         */
        long forgetNext(long now);
    }

    private final Hand hand;

    /** Held by who sweeps, and by who does other work on the slots that must not overlap with that. */
    private final AtomicBoolean busy;

    // Owned by the thread that holds busy.
    private long earliestInRound = Long.MAX_VALUE;
    private boolean forgotInRound;
    private int fruitlessCalls;
    private int callsToSkip;

    /** No cell can be forgotten before this time, unless permits are given back. */
    private volatile long idleUntil = Long.MIN_VALUE;

    /** Whether permits were given back since the round began, maybe behind the hand. */
    private volatile boolean woken;

    Sweeper(Hand hand, AtomicBoolean busy) {
        this.hand = hand;
        this.busy = busy;
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
            hand.restart();
        }
        boolean forgot = false;
        for (int visited = 0; visited < hand.slotsPerCall() && hand.hasNext(); visited++) {
            forgot |= visit(now);
        }
        forgotInRound |= forgot;
        fruitlessCalls = forgot ? 0 : Math.min(2 * fruitlessCalls + 1, MOST_SKIPPED_CALLS);
        callsToSkip = fruitlessCalls;
        if (!hand.hasNext()) {
            endRound();
        }
    }

    private boolean visit(long now) {
        long waitTicks = hand.forgetNext(now);
        if (waitTicks > 0) {
            earliestInRound = Math.min(earliestInRound, retryAt(now, waitTicks));
        }
        return waitTicks == 0;
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
