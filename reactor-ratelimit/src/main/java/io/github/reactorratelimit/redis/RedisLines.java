package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.queue.KeyQueues;
import io.github.reactorratelimit.queue.RetryingKey;
import io.github.reactorratelimit.queue.RetryingQueue;
import reactor.core.publisher.Mono;

/**
 * Those who wait in this process. Where slots can be reserved everybody reserves one on arrival, and Redis
 * knows of them; elsewhere the first in line asks again when its denial said.
 */
final class RedisLines {

    private final KeyQueues<RetryingKey, RetryingQueue> asking;
    private final KeyQueues<ReservingKey, ReservationQueue> booked;

    RedisLines(LimiterSettings settings) {
        this.asking = RetryingQueue.queues(settings);
        this.booked = new KeyQueues<>(
                settings, (runtime, state) -> new ReservationQueue(runtime, settings.maxWaiters(), state));
    }

    KeyQueues<RetryingKey, RetryingQueue> asking() {
        return asking;
    }

    KeyQueues<ReservingKey, ReservationQueue> booked() {
        return booked;
    }

    /** Whether somebody waits here whom Redis does not know of. */
    boolean hasUnknownWaiters(String key) {
        return asking.hasWaiters(key);
    }

    /** Whether somebody waits here. */
    boolean hasWaiters(String key) {
        return asking.hasWaiters(key) || booked.hasWaiters(key);
    }

    /** Permits came back. */
    void freed(String key) {
        asking.ifWaiting(key, RetryingQueue::retryNow);
        booked.ifWaiting(key, ReservationQueue::exchange);
    }

    /** A pause, a reset, another policy: everything may have changed. */
    void changed(String key) {
        asking.ifWaiting(key, RetryingQueue::retryNow);
        booked.ifWaiting(key, ReservationQueue::refresh);
    }

    /** Redis may have lost its state, and signals may have been missed. */
    void reconnected() {
        asking.forEachQueue(RetryingQueue::retryNow);
        booked.forEachQueue(ReservationQueue::recheck);
    }

    /** Any key may have changed. */
    void allChanged() {
        asking.forEachQueue(RetryingQueue::retryNow);
        booked.forEachQueue(ReservationQueue::refresh);
    }

    boolean isClosed() {
        return asking.isClosed() || booked.isClosed();
    }

    Mono<Void> close() {
        return Mono.when(asking.close(), booked.close());
    }
}
