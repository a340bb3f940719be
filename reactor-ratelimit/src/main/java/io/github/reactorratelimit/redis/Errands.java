package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.queue.DrainLoop;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import reactor.core.publisher.Mono;

/** Calls that nobody waits for, a few at a time, so that many of them do not hold up those that somebody waits for. */
final class Errands extends DrainLoop {

    private final int atATime;
    private final Queue<Mono<Void>> waiting = new ConcurrentLinkedQueue<>();
    private final AtomicInteger underWay = new AtomicInteger();

    Errands(int atATime) {
        this.atATime = atATime;
    }

    /** Runs it soon; what it fails with is its own affair. */
    void add(Mono<Void> errand) {
        waiting.offer(errand);
        signal();
    }

    @Override
    protected void drain() {
        while (underWay.get() < atATime) {
            Mono<Void> next = waiting.poll();
            if (next == null) {
                return;
            }
            underWay.incrementAndGet();
            next.subscribe(done -> {}, failed -> ended(), this::ended);
        }
    }

    private void ended() {
        underWay.decrementAndGet();
        signal();
    }
}
