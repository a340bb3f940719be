package io.github.reactorratelimit.local;

/** What the table holds for a key. */
abstract class Slot {

    /**
     * The key has its place but no state yet. Whoever meets it reads the key's overflow cell and replaces
     * it, by one atomic step of the map: the first one wins, and nobody waits for anybody.
     */
    static final class Entering extends Slot {}
}
