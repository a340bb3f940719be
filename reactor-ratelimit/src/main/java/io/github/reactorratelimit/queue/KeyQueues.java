package io.github.reactorratelimit.queue;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * The queues of one limiter: one for each key with waiters, none for other keys.
 *
 * @param <W> the waiters
 * @param <Q> the queue of a key
 */
public class KeyQueues<W extends Waiter<?>, Q extends KeyQueue<W, ?>> {

    protected final QueueRuntime runtime;
    private final Map<String, Q> queues = new ConcurrentHashMap<>();

    protected KeyQueues(QueueRuntime runtime) {
        this.runtime = runtime;
        runtime.onClose(() -> forEachQueue(DrainLoop::signal));
    }

    /**
     * Joins the queue of a key. An empty queue may retire meanwhile: then another one is made.
     *
     * @param maker makes the queue of the key if there is none
     */
    protected final void join(String key, W waiter, Supplier<Q> maker) {
        waiter.joining();
        Q queue = queueFor(key, maker);
        while (!queue.join(waiter)) {
            queues.remove(key, queue);
            queue = queueFor(key, maker);
        }
    }

    private Q queueFor(String key, Supplier<Q> maker) {
        return queues.computeIfAbsent(key, name -> {
            Q made = maker.get();
            made.whenRetired(() -> queues.remove(name, made));
            return made;
        });
    }

    /** A waiter cancelled. */
    protected final void leave(String key, W waiter) {
        Q queue = queues.get(key);
        if (queue != null) {
            queue.leave(waiter);
        }
    }

    /** The queue of a key with waiters, null for other keys. */
    public final @Nullable Q queue(String key) {
        Q queue = queues.isEmpty() ? null : queues.get(key);
        return queue == null || queue.length() == 0 ? null : queue;
    }

    /** Does something with the queue of a key, if it has waiters. */
    public final void ifWaiting(String key, Consumer<? super Q> action) {
        Q queue = queue(key);
        if (queue != null) {
            action.accept(queue);
        }
    }

    /** Does something with the queues of all keys. */
    public final void forEachQueue(Consumer<? super Q> action) {
        queues.values().forEach(action);
    }

    /** Whether a key has waiters: then no request may overtake them. */
    public final boolean hasWaiters(String key) {
        return queue(key) != null;
    }

    /** Completes when all who joined or left the queue of the key so far were handled, perhaps by another thread. */
    public final Mono<Void> behind(String key) {
        return Mono.create(sink -> {
            Q queue = queues.get(key);
            if (queue == null) {
                sink.success();
            } else {
                queue.afterwards(sink::success);
            }
        });
    }

    /** Whether the limiter is open and no key has waiters; false may also mean that a waiter has just left. */
    public final boolean isQuiet() {
        return !runtime.isClosed() && runtime.pending() == 0;
    }

    /** Waiters of all keys; those already answered count until their answer is delivered. */
    public final int pending() {
        return runtime.pending();
    }

    /** Whether it was closed, or had to close itself because its scheduler was disposed. */
    public final boolean isClosed() {
        return runtime.isClosed();
    }

    /** Fails all waiters, and completes when the last of them received its error. */
    public final Mono<Void> close() {
        return runtime.close();
    }
}
