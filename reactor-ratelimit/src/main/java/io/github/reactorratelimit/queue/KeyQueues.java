package io.github.reactorratelimit.queue;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.RateLimitRecorder;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;

/**
 * The queues of one limiter: one for each key with waiters, none for other keys; and the pauses of keys, which hold up
 * their queues.
 *
 * @param <R> what waiters request
 * @param <Q> the queue of a key
 */
public class KeyQueues<R extends QueuedRequest, Q extends KeyQueue<R>> {

    /** The end of a pause that never was. */
    public static final long NOT_PAUSED = Long.MIN_VALUE;

    private static final int FIRST_SWEEP_ABOVE = 1_000;

    private final QueueRuntime runtime;
    private final BiFunction<QueueRuntime, R, Q> maker;
    private final Map<String, Q> queues = new ConcurrentHashMap<>();

    /** When the pauses of keys end. */
    private final Map<String, Long> pauses = new ConcurrentHashMap<>();

    /** Set before the first pause: where no key was ever paused, this is all that is read. */
    private volatile boolean hasPaused;

    /** Doubles with what is left after a sweep, so that sweeps cost little per pause. */
    private volatile int sweepAbove = FIRST_SWEEP_ABOVE;

    /** @param maker makes the queue of a key when its first waiter joins */
    public KeyQueues(LimiterSettings settings, BiFunction<QueueRuntime, R, Q> maker) {
        this.runtime = new QueueRuntime(settings, queues);
        this.maker = maker;
    }

    /**
     * Waits in the queue of a key for each subscriber.
     *
     * @param <T> what the queue answers
     */
    @SuppressWarnings("unchecked")
    public final <T> Mono<T> await(R request, long permits, long maxWaitNanos) {
        return new Mono<>() {
            @Override
            public void subscribe(CoreSubscriber<? super T> actual) {
                actual.onSubscribe(waiter((CoreSubscriber<Object>) actual, request, permits, maxWaitNanos));
            }
        };
    }

    final Waiter<R> waiter(CoreSubscriber<Object> actual, R request, long permits, long maxWaitNanos) {
        return new Waiter<>(runtime, actual, request, permits, maxWaitNanos) {

            private @Nullable Q queue;

            @Override
            protected void join() {
                Object answer = isClosed() ? runtime.closedException() : arrive();
                if (answer == null) {
                    queue = KeyQueues.this.join(this);
                } else if (!claim(answer) && !(answer instanceof Throwable)) {
                    request.giveBack(answer);
                }
            }

            private @Nullable Object arrive() {
                arriveAt(request.now());
                return answerAtOnce(this);
            }

            @Override
            protected void leave() {
                if (queue != null) {
                    queue.leave(this);
                }
            }

            @Override
            protected void delivering(Object delivered) {
                if (queue != null && delivered instanceof Decision decision) {
                    decision.debit().ifPresent(debit -> KeyQueues.this.delivering(this, debit));
                }
            }
        };
    }

    /** Answers a request that need not join the queue; null if it must. */
    @Nullable
    Decision answerAtOnce(Waiter<R> waiter) {
        return null;
    }

    /** Permits are delivered to a waiter. */
    void delivering(Waiter<R> waiter, Debit debit) {
        RateLimitRecorder recorder = runtime.recorder;
        if (waiter.dueAt != Waiter.NOT_DUE && recorder != RateLimitRecorder.NOOP) {
            recorder.deliveredLate(Math.max(0, waiter.request().now() - waiter.dueAt));
        }
    }

    /** An empty queue may retire meanwhile: then another one is made. */
    private Q join(Waiter<R> waiter) {
        waiter.joined = true;
        runtime.joined();
        runtime.recorder.queueChanged(1);
        Q queue = queueFor(waiter.request());
        while (!queue.join(waiter)) {
            queues.remove(waiter.request().key(), queue);
            queue = queueFor(waiter.request());
        }
        return queue;
    }

    private Q queueFor(R request) {
        return queues.computeIfAbsent(request.key(), key -> maker.apply(runtime, request));
    }

    /** The queue of a key with waiters, null for other keys. */
    public final @Nullable Q queue(String key) {
        Q queue = queues.isEmpty() ? null : queues.get(key);
        return queue == null || queue.waitingPermits() == 0 ? null : queue;
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

    /** Whether a request must wait: its key is paused or has waiters. */
    public final boolean mustWait(String key, long now) {
        return now < pausedUntil(key) || hasWaiters(key);
    }

    /** When the pause of a key ends or ended; {@link #NOT_PAUSED} if there is none. */
    public final long pausedUntil(String key) {
        return !hasPaused || pauses.isEmpty() ? NOT_PAUSED : pauses.getOrDefault(key, NOT_PAUSED);
    }

    /**
     * Pauses a key, or ends its pause if {@code until} is not ahead.
     *
     * @param extendOnly whether a longer pause stays, and none is ended
     */
    public final void pause(String key, long now, long until, boolean extendOnly) {
        if (until > now) {
            hasPaused = true;
            sweepPauses(now);
            pauses.merge(key, until, extendOnly ? Math::max : (before, after) -> after);
        } else if (!extendOnly) {
            endPause(key);
        }
    }

    private void sweepPauses(long now) {
        if (pauses.size() > sweepAbove) {
            pauses.values().removeIf(end -> end <= now);
            sweepAbove = Math.max(FIRST_SWEEP_ABOVE, 2 * pauses.size());
        }
    }

    /** Ends the pause of a key. */
    public final void endPause(String key) {
        pauses.remove(key);
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
        return !isClosed() && runtime.pending() == 0;
    }

    /** What its queues share. */
    public final QueueRuntime runtime() {
        return runtime;
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
