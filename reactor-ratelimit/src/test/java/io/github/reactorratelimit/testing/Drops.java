package io.github.reactorratelimit.testing;

import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import reactor.core.publisher.Hooks;

/** What Reactor's drop hooks saw. */
public final class Drops {

    private static final Queue<Object> SEEN = new ConcurrentLinkedQueue<>();

    private Drops() {}

    /** Listens from now on; a test that set the hooks itself has lost them. */
    public static void listen() {
        Hooks.resetOnNextDropped();
        Hooks.resetOnErrorDropped();
        Hooks.onNextDropped(SEEN::add);
        Hooks.onErrorDropped(SEEN::add);
    }

    /** What was dropped since the last call. */
    public static List<Object> take() {
        List<Object> all = List.copyOf(SEEN);
        SEEN.removeAll(all);
        return all;
    }
}
