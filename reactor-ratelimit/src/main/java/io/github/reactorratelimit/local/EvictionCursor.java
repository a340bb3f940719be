package io.github.reactorratelimit.local;

/** Goes round over the slots of a table. It passes a slot that stays throughout a round exactly once. */
interface EvictionCursor {

    /** How many slots it may visit at a call. */
    int slotsPerCall();

    void restart();

    boolean hasNext();

    /** Visits a slot, and evicts its key if that changes no decision; see {@link Cell#evict}. */
    long evictNext(long now);
}
