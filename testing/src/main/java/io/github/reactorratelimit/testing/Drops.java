package io.github.reactorratelimit.testing;

import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import reactor.core.publisher.Hooks;

/** What Reactor's drop hooks saw, and who waited for a lock that must not. */
public final class Drops {

    private static final Queue<Object> SEEN = new ConcurrentLinkedQueue<>();

    /** Where the first of them were dropped: a race seen once tells no more than that. */
    private static final Queue<Throwable> PLACES = new ConcurrentLinkedQueue<>();

    private static final int MOST_PLACES = 4;

    private Drops() {}

    /** Listens from now on; a test that set the hooks itself has lost them. */
    public static void listen() {
        Hooks.resetOnNextDropped();
        Hooks.resetOnErrorDropped();
        Hooks.onNextDropped(Drops::note);
        Hooks.onErrorDropped(Drops::note);
    }

    private static void note(Object dropped) {
        SEEN.add(dropped);
        if (PLACES.size() < MOST_PLACES) {
            PLACES.add(new Throwable("dropped here: " + dropped));
        }
    }

    /** A thread that must not block waits for a lock. */
    static void blocked(Throwable where) {
        SEEN.add(where);
        if (PLACES.size() < MOST_PLACES) {
            PLACES.add(where);
        }
    }

    /** What was dropped since the last call. */
    public static List<Object> take() {
        List<Object> all = List.copyOf(SEEN);
        SEEN.removeAll(all);
        return all;
    }

    /** Where the first of what was dropped since the last call was dropped. */
    static List<Throwable> takePlaces() {
        List<Throwable> all = List.copyOf(PLACES);
        PLACES.removeAll(all);
        return all;
    }
}
