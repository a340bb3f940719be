package io.github.reactorratelimit.waiting;

import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.RateLimitRecorder;
import io.github.reactorratelimit.RateLimiterClosedException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;

/**
 * Everyone who waits for permits of one limiter: counts them, tells them on the scheduler, and empties
 * when the limiter closes. There is a line for each key that somebody waits for; what kind of line is
 * up to the subclass.
 *
 * <p>Nothing here runs a subscriber's code but the {@link Deliveries}: a slow subscriber delays itself,
 * not the line.
 */
abstract class WaitingRoom<L extends Line> {

    private final LimiterSettings settings;
    private final LineTimer timer;
    private final Deliveries deliveries;
    private final DisposalWatch watch;
    private final Map<String, L> lines = new ConcurrentHashMap<>();
    private final AtomicLong ids = new AtomicLong();

    /** Requests that stood in line and whose subscribers have not yet been told, or have not left. */
    private final AtomicInteger pending = new AtomicInteger();

    private final Sinks.Empty<Void> emptied = Sinks.empty();
    private volatile boolean closed;

    WaitingRoom(LimiterSettings settings) {
        this.settings = settings;
        this.timer = new LineTimer(settings.scheduler(), this::closeNow);
        this.deliveries = new Deliveries(settings.callbacks());
        this.watch = new DisposalWatch(settings.scheduler(), () -> pending.get() > 0 && !isClosed(), this::closeNow);
    }

    /** Makes the lines. */
    interface LineMaker<L> {
        L make(String key, long id);
    }

    /** The line of a key that somebody waits for, and null for the others. */
    final @Nullable L line(String key) {
        L line = lines.isEmpty() ? null : lines.get(key);
        return line == null || line.length() == 0 ? null : line;
    }

    final void forEachLine(Consumer<? super L> action) {
        lines.values().forEach(action);
    }

    /** Whether somebody waits for the key: then nobody may overtake. */
    public final boolean hasWaiters(String key) {
        return line(key) != null;
    }

    /**
     * Completes when all who joined or left the line of the key so far have been dealt with, perhaps by another
     * thread: who asks after that does not overtake what it did itself.
     */
    public final Mono<Void> behind(String key) {
        return Mono.create(sink -> {
            L line = lines.get(key);
            if (line == null) {
                sink.success();
            } else {
                line.afterwards(sink::success);
            }
        });
    }

    /** Whether it is open and nobody waits for any key; false may also mean that somebody has just left. */
    public final boolean isQuiet() {
        return !closed && pending.get() == 0;
    }

    final void join(String key, Waiter waiter, LineMaker<L> maker) {
        if (pending.getAndIncrement() == 0) {
            watch.update();
        }
        recorder().waitStarted();
        for (; ; ) {
            L line = lines.computeIfAbsent(key, name -> maker.make(name, ids.incrementAndGet()));
            if (line.join(waiter)) {
                return;
            }
            lines.remove(key, line);
        }
    }

    final void leave(String key, Waiter waiter) {
        L line = lines.get(key);
        if (line != null) {
            line.leave(waiter);
        }
    }

    final void remove(Line line) {
        lines.remove(line.key(), line);
    }

    /** Requests in all lines; those already answered count until their subscribers were told. */
    public final int pending() {
        return pending.get();
    }

    public final boolean isClosed() {
        return closed;
    }

    /** Fails everyone who waits, and completes when the last of them was told. */
    public final Mono<Void> close() {
        return Mono.defer(() -> {
            closeNow();
            return emptied.asMono();
        });
    }

    private void closeNow() {
        closed = true;
        lines.values().forEach(Line::poke);
        if (settings.callbacks().isDisposed()) {
            deliveries.run();
        }
        completeIfEmptied();
    }

    final RateLimiterClosedException closedException() {
        return new RateLimiterClosedException(settings.name());
    }

    final RateLimitRecorder recorder() {
        return settings.recorder();
    }

    final LineTimer timer() {
        return timer;
    }

    final int maxWaiters() {
        return settings.maxWaiters();
    }

    /** Lets the subscriber be told, on another thread than this. */
    final void signal(Waiter waiter) {
        deliveries.add(waiter);
    }

    /** A request that stood in line has been told, or has left. */
    final void departed() {
        if (pending.decrementAndGet() == 0) {
            watch.update();
        }
        completeIfEmptied();
    }

    private void completeIfEmptied() {
        if (closed && pending.get() == 0) {
            emptied.tryEmitEmpty();
        }
    }
}
