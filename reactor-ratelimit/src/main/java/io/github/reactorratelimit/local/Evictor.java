package io.github.reactorratelimit.local;

import io.github.reactorratelimit.Saturated;
import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.local.Cell.Shared;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Makes room in a full map, and helps it to grow: a few buckets at each call. Keys for which that changes no decision are
 * evicted. One thread does so at a time, the others go on without: a flood of new keys costs each of them a bounded amount of
 * work, and no thread waits. Calls that found nothing make the next ones rarer. After a round that found nothing there is
 * none until the first state is refilled.
 */
final class Evictor<S> {

    private static final int BUCKETS_PER_CALL = 32;
    private static final int MOST_SKIPPED_CALLS = 31;

    private final CellMap<S> cells;
    private final Shared<S> shared;

    /** Held by the thread that evicts, rehashes or removes cells. */
    private final AtomicBoolean busy = new AtomicBoolean();

    // Owned by the thread that holds busy.
    private int bucket;
    private long earliestInRound = Long.MAX_VALUE;
    private int evicted;
    private boolean evictedInRound;
    private int fruitlessCalls;
    private int callsToSkip;

    /** No key can be evicted before this time, unless permits are refunded. */
    private volatile long idleUntil = Long.MIN_VALUE;

    /** Whether permits were given back since the round began, maybe behind the cursor. */
    private volatile boolean woken;

    Evictor(CellMap<S> cells, Shared<S> shared) {
        this.cells = cells;
        this.shared = shared;
    }

    /** Evicts some keys. */
    void evict(long now) {
        if (now >= idleUntil) {
            alone(() -> advance(now));
        }
    }

    /** Does a part of the work if the map grows or must. */
    void rehash(long now) {
        if (cells.needsRehash() && !busy.get()) {
            alone(() -> cells.rehash(cell -> visit(cell, now)));
        }
    }

    /** Removes a key's dead cell from the map; if another thread is busy, a later round does. */
    void removeDead(String key) {
        alone(() -> cells.removeDead(key));
    }

    private void alone(Runnable work) {
        if (busy.compareAndSet(false, true)) {
            try {
                work.run();
            } finally {
                busy.set(false);
            }
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
        if (cells.isGrowing()) {
            cells.rehash(cell -> visit(cell, now));
            return;
        }
        if (callsToSkip > 0) {
            callsToSkip--;
            return;
        }
        if (bucket == 0) {
            woken = false;
        }
        evicted = 0;
        int end = Math.min(cells.buckets(), bucket + BUCKETS_PER_CALL);
        for (; bucket < end; bucket++) {
            cells.visit(bucket, cell -> visit(cell, now));
        }
        evictedInRound |= evicted > 0;
        fruitlessCalls = evicted > 0 ? 0 : Math.min(2 * fruitlessCalls + 1, MOST_SKIPPED_CALLS);
        callsToSkip = fruitlessCalls;
        if (bucket >= cells.buckets()) {
            endRound();
        }
    }

    /** Whether the cell was evicted. */
    private boolean visit(Cell<S> cell, long now) {
        long waitTicks = cell.evict(shared, now);
        if (waitTicks == 0) {
            evicted++;
            cells.release();
        } else if (waitTicks > 0) {
            earliestInRound = Math.min(earliestInRound, retryAt(now, waitTicks));
        }
        return waitTicks == 0;
    }

    private static long retryAt(long now, long waitTicks) {
        return waitTicks == Algorithm.UNKNOWN ? now : Saturated.plus(now, waitTicks);
    }

    private void endRound() {
        boolean again = evictedInRound || earliestInRound == Long.MAX_VALUE;
        idleUntil = again ? Long.MIN_VALUE : earliestInRound;
        // Read after the write: a thread that wakes writes in the other order.
        if (woken) {
            idleUntil = Long.MIN_VALUE;
        }
        bucket = 0;
        earliestInRound = Long.MAX_VALUE;
        evictedInRound = false;
        callsToSkip = 0;
    }
}
