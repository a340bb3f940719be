package io.github.reactorratelimit.queue;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.LimiterSettings;
import reactor.core.publisher.Mono;

/** The queues of one limiter whose store answers later. */
public final class RetryingQueues extends KeyQueues<Waiter<Decision>, RetryingQueue> {

    public RetryingQueues(LimiterSettings settings) {
        super(settings);
    }

    /** Waits for permits of {@code key}. */
    public Mono<Decision> await(String key, RetryingKey state, long permits, long maxWaitNanos) {
        return new MonoWaiter<>(actual -> new RemoteWaiter<>(
                this,
                actual,
                key,
                state,
                permits,
                maxWaitNanos,
                () -> new RetryingQueue(runtime(), settings().maxWaiters(), state)));
    }

    /** Permits came back, or a pause changed: perhaps it is somebody's turn. */
    public void askAgain(String key) {
        RetryingQueue queue = queue(key);
        if (queue != null) {
            queue.askAgain();
        }
    }

    /** The key has another policy: those who wait for it ask at {@code state}. */
    public void replan(String key, RetryingKey state) {
        RetryingQueue queue = queue(key);
        if (queue != null) {
            queue.replan(state);
        }
    }

    /** Any key may have changed: perhaps it is somebody's turn. */
    public void askAgainAll() {
        forEachQueue(RetryingQueue::askAgain);
    }
}
