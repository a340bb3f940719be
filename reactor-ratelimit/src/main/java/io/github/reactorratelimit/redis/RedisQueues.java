package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.queue.KeyQueues;
import io.github.reactorratelimit.queue.RetryingKey;
import io.github.reactorratelimit.queue.RetryingQueue;
import reactor.core.publisher.Mono;

/**
 * The waiters of one limiter in this process. Where a policy has slots each waiter reserves one on arrival,
 * and Redis knows of it; under other policies the head of the queue requests permits again when its denial
 * said.
 */
final class RedisQueues {

    private final KeyQueues<RetryingKey, RetryingQueue> retrying;
    private final KeyQueues<ReservingKey, ReservationQueue> reserving;

    RedisQueues(LimiterSettings settings) {
        this.retrying = RetryingQueue.queues(settings);
        this.reserving =
                new KeyQueues<>(settings, (runtime, key) -> new ReservationQueue(runtime, settings.maxWaiters(), key));
    }

    KeyQueues<RetryingKey, RetryingQueue> retrying() {
        return retrying;
    }

    KeyQueues<ReservingKey, ReservationQueue> reserving() {
        return reserving;
    }

    /** Whether the key has waiters that Redis does not know of. */
    boolean hasUnknownWaiters(String key) {
        return retrying.hasWaiters(key);
    }

    boolean hasWaiters(String key) {
        return retrying.hasWaiters(key) || reserving.hasWaiters(key);
    }

    /** Permits of a key came back. */
    void freed(String key) {
        retrying.ifWaiting(key, RetryingQueue::retryNow);
        reserving.ifWaiting(key, ReservationQueue::swap);
    }

    /** A pause, a reset, another policy: everything may have changed for the key. */
    void changed(String key) {
        retrying.ifWaiting(key, RetryingQueue::retryNow);
        reserving.ifWaiting(key, ReservationQueue::refresh);
    }

    /** Everything may have changed for any key. */
    void allChanged() {
        retrying.forEachQueue(RetryingQueue::retryNow);
        reserving.forEachQueue(ReservationQueue::refresh);
    }

    boolean isClosed() {
        return retrying.isClosed() || reserving.isClosed();
    }

    Mono<Void> close() {
        return Mono.when(retrying.close(), reserving.close());
    }
}
