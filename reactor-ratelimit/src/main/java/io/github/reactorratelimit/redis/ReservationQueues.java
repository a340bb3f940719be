package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.queue.KeyQueues;
import io.github.reactorratelimit.queue.MonoWaiter;
import io.github.reactorratelimit.queue.RemoteWaiter;
import io.github.reactorratelimit.queue.Waiter;
import reactor.core.publisher.Mono;

/** The queues of one limiter whose store can debit permits for a time ahead. */
final class ReservationQueues extends KeyQueues<Waiter<Decision>, ReservationQueue> {

    ReservationQueues(LimiterSettings settings) {
        super(settings);
    }

    /** Waits for permits of {@code key}. */
    Mono<Decision> await(String key, ReservingKey state, long permits, long maxWaitNanos) {
        return new MonoWaiter<>(actual -> new RemoteWaiter<>(
                this,
                actual,
                key,
                state,
                permits,
                maxWaitNanos,
                () -> new ReservationQueue(runtime(), settings().maxWaiters(), state)));
    }

    /** The slots of a key may have been moved, or become void. */
    void refresh(String key) {
        ReservationQueue queue = queue(key);
        if (queue != null) {
            queue.refresh();
        }
    }

    /** The key has another policy: its waiters reserve again by {@code state}. */
    void replan(String key, ReservingKey state) {
        ReservationQueue queue = queue(key);
        if (queue != null) {
            queue.replan(state);
        }
    }

    /** The slots of any key may have been moved, or become void. */
    void refreshAll() {
        forEachQueue(ReservationQueue::refresh);
    }

    /** The state of any key may have been lost. */
    void recheckAll() {
        forEachQueue(ReservationQueue::recheck);
    }

    /** Somebody elsewhere gave back a slot of the key. */
    void exchange(String key) {
        ReservationQueue queue = queue(key);
        if (queue != null) {
            queue.exchange();
        }
    }
}
