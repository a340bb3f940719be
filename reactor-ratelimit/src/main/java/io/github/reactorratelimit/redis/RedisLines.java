package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.queue.RetryingQueues;
import reactor.core.publisher.Mono;

/**
 * Those who wait in this process. Where slots can be reserved everybody reserves one on arrival, and Redis
 * knows of them; elsewhere the first in line asks again when its denial said.
 */
final class RedisLines {

    private final RetryingQueues asking;
    private final ReservationQueues booked;

    RedisLines(LimiterSettings settings) {
        this.asking = new RetryingQueues(settings);
        this.booked = new ReservationQueues(settings);
    }

    RetryingQueues asking() {
        return asking;
    }

    ReservationQueues booked() {
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
        asking.askAgain(key);
        booked.exchange(key);
    }

    /** A pause, a reset, another policy: everything may have changed. */
    void changed(String key) {
        asking.askAgain(key);
        booked.refresh(key);
    }

    /** Redis may have lost its state, and signals may have been missed. */
    void reconnected() {
        asking.askAgainAll();
        booked.recheckAll();
    }

    /** Any key may have changed. */
    void allChanged() {
        asking.askAgainAll();
        booked.refreshAll();
    }

    boolean isClosed() {
        return asking.isClosed() || booked.isClosed();
    }

    Mono<Void> close() {
        return Mono.when(asking.close(), booked.close());
    }
}
