package io.github.reactorratelimit.redis;

import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Delays the flush of a queue while replies are being delivered, so that the commands they trigger share one
 * call. Each thread that delivers has its own.
 *
 * <p>A command is in the mailbox of its queue before its thread looks here, and the queue is taken out of
 * here before it is flushed: so a command that counts on this is seen by the flush.
 */
final class DeferredFlush {

    /** Of the delivery that this thread runs. */
    private static final ThreadLocal<@Nullable DeferredFlush> CURRENT = new ThreadLocal<>();

    private final AtomicReference<@Nullable CommandQueue> held = new AtomicReference<>();

    /** Runs a delivery. What it offers is flushed when it ends; {@link #flush} may do so earlier. */
    void during(Runnable delivery) {
        DeferredFlush outer = CURRENT.get();
        CURRENT.set(this);
        try {
            delivery.run();
        } finally {
            CURRENT.set(outer);
            flush();
        }
    }

    /** Whether the queue is flushed later, because this thread delivers replies; one queue at a time is. */
    static boolean defers(CommandQueue queue) {
        DeferredFlush current = CURRENT.get();
        return current != null && (current.held.get() == queue || current.held.compareAndSet(null, queue));
    }

    void flush() {
        CommandQueue queue = held.get() == null ? null : held.getAndSet(null);
        if (queue != null) {
            queue.signal();
        }
    }
}
