package io.github.reactorratelimit.queue;

import io.github.reactorratelimit.LimiterSettings;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** The queues of one limiter: one for each key with waiters, none for other keys. */
public abstract class KeyQueues<W extends Waiter<?>, Q extends KeyQueue<W, ?>> {

    private final LimiterSettings settings;
    private final QueueRuntime runtime;
    private final Map<String, Q> queues = new ConcurrentHashMap<>();

    protected KeyQueues(LimiterSettings settings) {
        this.settings = settings;
        this.runtime =
                new QueueRuntime(settings.name(), settings.scheduler(), settings.callbacks(), settings.recorder());
        runtime.onClose(() -> queues.values().forEach(DrainLoop::signal));
    }

    protected final QueueRuntime runtime() {
        return runtime;
    }

    protected final LimiterSettings settings() {
        return settings;
    }

    /** The queue of a key with waiters, null for other keys. */
    protected final @Nullable Q queue(String key) {
        Q queue = queues.isEmpty() ? null : queues.get(key);
        return queue == null || queue.length() == 0 ? null : queue;
    }

    protected final void forEachQueue(Consumer<? super Q> action) {
        queues.values().forEach(action);
    }

    /** Whether a key has waiters: then no request may overtake them. */
    public final boolean hasWaiters(String key) {
        return queue(key) != null;
    }

    /**
     * Completes when all who joined or left the queue of the key so far were handled, perhaps by another thread: a request after
     * that does not overtake what its caller did before.
     */
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

    /** Joins the queue of a key. An empty queue may retire meanwhile: then another one is made. */
    final void join(String key, W waiter, Supplier<Q> maker) {
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

    final void leave(String key, W waiter) {
        Q queue = queues.get(key);
        if (queue != null) {
            queue.leave(waiter);
        }
    }

    /** Waiters of all keys; those already answered count until their answer is delivered. */
    public final int pending() {
        return runtime.pending();
    }

    public final boolean isClosed() {
        return runtime.isClosed();
    }

    /** Fails all waiters, and completes when the last of them received its error. */
    public final Mono<Void> close() {
        return runtime.close();
    }
}
