package io.github.reactorratelimit.local;

import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Consumer;

/**
 * The places for the hot keys of a table: each key has one of them, several keys may have the same. What
 * is in a place is replaced, never removed, and never comes back; so who finds the same twice knows that
 * there was nothing else in between.
 */
final class HotKeys {

    static final int PLACES = 16;

    private final AtomicReferenceArray<HotKey> places = new AtomicReferenceArray<>(PLACES);

    /** Whether a key ever became hot; set before the first does. */
    private volatile boolean used;

    HotKeys() {
        for (int place = 0; place < PLACES; place++) {
            places.set(place, HotKey.none());
        }
    }

    /** Whether it is worth looking for permits that were prepaid. */
    boolean mayHavePrepaid() {
        return used;
    }

    /** What is in the key's place: perhaps another key, perhaps one that is hot no longer. */
    HotKey at(String key) {
        return places.get(place(key));
    }

    void forEach(Consumer<HotKey> action) {
        for (int place = 0; place < PLACES; place++) {
            action.accept(places.get(place));
        }
    }

    boolean replace(HotKey seen, HotKey opening) {
        seen.link();
        used = true;
        return places.compareAndSet(place(opening.key()), seen, opening);
    }

    /**
     * Whether a debit of the key as of {@code at} may have come after the key became hot, with more than
     * that allows.
     *
     * @param seen what was in the key's place before the debit
     */
    boolean mayHaveMissed(HotKey seen, String key, long at) {
        HotKey now = at(key);
        return now != seen && mayHaveMissed(seen, now, key, at);
    }

    private static boolean mayHaveMissed(HotKey seen, HotKey now, String key, long at) {
        HotKey next = seen.next();
        // Read after what is there now: none means that this is the next.
        HotKey first = next == null ? now : next;
        return at > first.openedAt && (first != now || first.isFor(key));
    }

    static int place(String key) {
        int hash = key.hashCode();
        return (hash ^ hash >>> 16) & (PLACES - 1);
    }
}
