package io.github.reactorratelimit.local;

import io.github.reactorratelimit.algorithm.Algorithm;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Makes room in a full table: a cursor goes round over the slots, a few at each call, and evicts the keys for which that
 * changes no decision. One thread evicts at a time, the others go on without: a flood of new keys costs each of them a
 * bounded amount of work, and no thread waits. Calls that found nothing make the next ones rarer. After a round that found
 * nothing there is none until the first state is refilled.
 */
final class Evictor {

    private static final int MOST_SKIPPED_CALLS = 31;

    private final EvictionCursor cursor;

    /** Held by the thread that evicts or rehashes. */
    private final AtomicBoolean busy;

    // Owned by the thread that holds busy.
    private long earliestInRound = Long.MAX_VALUE;
    private boolean evictedInRound;
    private int fruitlessCalls;
    private int callsToSkip;

    /** No key can be evicted before this time, unless permits are refunded. */
    private volatile long idleUntil = Long.MIN_VALUE;

    /** Whether permits were given back since the round began, maybe behind the cursor. */
    private volatile boolean woken;

    Evictor(EvictionCursor cursor, AtomicBoolean busy) {
        this.cursor = cursor;
        this.busy = busy;
    }

    void evict(long now) {
        if (now < idleUntil || !busy.compareAndSet(false, true)) {
            return;
        }
        try {
            if (callsToSkip > 0) {
                callsToSkip--;
            } else {
                advance(now);
            }
        } finally {
            busy.set(false);
        }
    }

    /** A key may be evictable earlier than its state said. */
    void wake() {
        if (!woken) {
            woken = true;
        }
        if (idleUntil != Long.MIN_VALUE) {
            idleUntil = Long.MIN_VALUE;
        }
    }

    private void advance(long now) {
        if (!cursor.hasNext()) {
            woken = false;
            cursor.restart();
        }
        boolean evicted = false;
        for (int visited = 0; visited < cursor.slotsPerCall() && cursor.hasNext(); visited++) {
            evicted |= visit(now);
        }
        evictedInRound |= evicted;
        fruitlessCalls = evicted ? 0 : Math.min(2 * fruitlessCalls + 1, MOST_SKIPPED_CALLS);
        callsToSkip = fruitlessCalls;
        if (!cursor.hasNext()) {
            endRound();
        }
    }

    private boolean visit(long now) {
        long waitTicks = cursor.evictNext(now);
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
        boolean again = evictedInRound || earliestInRound == Long.MAX_VALUE;
        idleUntil = again ? Long.MIN_VALUE : earliestInRound;
        // Read after the write: a thread that wakes writes in the other order.
        if (woken) {
            idleUntil = Long.MIN_VALUE;
        }
        earliestInRound = Long.MAX_VALUE;
        evictedInRound = false;
        callsToSkip = 0;
    }
}
