package io.github.reactorratelimit.local;

/** What the table holds for a key. */
abstract sealed class Slot permits Slot.Entering, Cell {

    /**
     * The key has its place but no state yet. Whoever meets it reads the key's overflow cell and replaces
     * it, by one atomic step of the map: the first one wins, and nobody waits for anybody.
     */
    static final class Entering extends Slot {}
}
