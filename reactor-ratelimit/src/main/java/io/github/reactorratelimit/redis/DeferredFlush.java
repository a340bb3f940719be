package io.github.reactorratelimit.redis;

import org.jspecify.annotations.Nullable;

/**
 * Delays the flush of a queue while replies are being delivered, so that the commands they trigger share one
 * call. Each thread that delivers has its own. If a delivery takes long, the queue flushes itself.
 */
final class DeferredFlush {

    /** So many commands at most wait for a flush. */
    private static final int FLUSH_EVERY = 256;

    /** Of the delivery that this thread runs. */
    private static final ThreadLocal<@Nullable DeferredFlush> CURRENT = new ThreadLocal<>();

    private @Nullable CommandQueue held;
    private int deferred;

    private DeferredFlush() {}

    /** Runs a delivery. What it offers is flushed when it ends. */
    static void during(Runnable delivery) {
        DeferredFlush outer = CURRENT.get();
        DeferredFlush current = new DeferredFlush();
        CURRENT.set(current);
        try {
            delivery.run();
        } finally {
            CURRENT.set(outer);
            if (current.held != null) {
                current.held.signal();
            }
        }
    }

    /** Whether the queue is flushed later, because this thread delivers replies; one queue at a time is. */
    static boolean defers(CommandQueue queue) {
        DeferredFlush current = CURRENT.get();
        if (current == null || (current.held != null && current.held != queue)) {
            return false;
        }
        current.held = queue;
        return ++current.deferred % FLUSH_EVERY != 0;
    }
}
