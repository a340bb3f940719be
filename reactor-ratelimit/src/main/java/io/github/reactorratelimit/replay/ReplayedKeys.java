package io.github.reactorratelimit.replay;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.Saturated;
import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.algorithm.Reading;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;

/**
 * The keys of one replay, each with its state and its queue. A waiter is debited ahead, at the time it will leave: no later
 * arrival overtakes it, so that time does not change. Not thread-safe.
 */
final class ReplayedKeys<S> {

    private static final int FIRST_SWEEP = 1_024;

    private final Algorithm<S> algorithm;
    private final long maxWaitNanos;
    private final long queueCapacity;
    private final Map<String, ReplayedKey<S>> keys = new HashMap<>();
    private int sweepAt = FIRST_SWEEP;
    private long nowNanos;

    /** @param queueCapacity permits that may wait for one key at a time */
    ReplayedKeys(Algorithm<S> algorithm, long maxWaitNanos, long queueCapacity) {
        this.algorithm = algorithm;
        this.maxWaitNanos = maxWaitNanos;
        this.queueCapacity = queueCapacity;
    }

    private static final class ReplayedKey<S> {

        private final Queue<Waiting> queue = new ArrayDeque<>();
        private S state;
        private long lastDeparture = Long.MIN_VALUE;
        private long waitingPermits;

        ReplayedKey(S fresh) {
            this.state = fresh;
        }

        void leaveUpTo(long now) {
            for (Waiting head = queue.peek(); head != null && head.departure <= now; head = queue.peek()) {
                waitingPermits -= head.permits;
                queue.remove();
            }
        }
    }

    private record Waiting(long departure, long permits) {}

    ReplayEvent next(Arrival arrival) {
        long now = arrival.at().toNanos();
        if (now < nowNanos) {
            throw new IllegalArgumentException("arrivals must be in order of time, but " + arrival.at() + " came after "
                    + Duration.ofNanos(nowNanos));
        }
        nowNanos = now;
        sweep();
        ReplayedKey<S> key = keys.computeIfAbsent(arrival.key(), name -> new ReplayedKey<>(algorithm.fresh()));
        key.leaveUpTo(now);
        return decide(key, arrival, now);
    }

    private ReplayEvent decide(ReplayedKey<S> key, Arrival arrival, long now) {
        long from = Math.max(now, key.lastDeparture);
        if (arrival.permits() > algorithm.capacity()) {
            return denied(key, arrival, from, Decision.UNKNOWN);
        }
        long wait = Saturated.plus(from - now, algorithm.waitTicks(key.state, from, arrival.permits()));
        boolean queueIsFull = arrival.permits() > queueCapacity - key.waitingPermits;
        if (wait > maxWaitNanos || (wait > 0 && queueIsFull) || wait > Long.MAX_VALUE - now) {
            return denied(key, arrival, from, wait);
        }
        return allowed(key, arrival, now + wait);
    }

    private ReplayEvent allowed(ReplayedKey<S> key, Arrival arrival, long departure) {
        long permits = arrival.permits();
        key.state = algorithm.debit(key.state, departure, permits);
        key.lastDeparture = departure;
        if (departure > nowNanos) {
            key.queue.add(new Waiting(departure, permits));
            key.waitingPermits += permits;
        }
        Reading reading = algorithm.read(key.state, departure, 0);
        Decision decision = Decision.wouldAllow(
                reading.policy(), permits, reading.remaining(), reading.resetTicks(), Decision.UNKNOWN);
        return new ReplayEvent(arrival, decision, Optional.of(Duration.ofNanos(departure)));
    }

    /** While others wait nothing remains, also if permits are left when the last of them has gone. */
    private ReplayEvent denied(ReplayedKey<S> key, Arrival arrival, long from, long wait) {
        boolean possible = wait != Decision.UNKNOWN;
        Reading reading = algorithm.read(key.state, from, possible ? arrival.permits() : 0);
        long remaining = from > nowNanos ? 0 : reading.remaining();
        long reset = Saturated.plus(from - nowNanos, reading.resetTicks());
        RateLimitPolicy binding = reading.policy();
        Decision decision = Decision.deny(binding, arrival.permits(), remaining, reset, wait);
        return new ReplayEvent(arrival, decision, Optional.empty());
    }

    /** Drops keys that have recovered, each time the number of keys has doubled. */
    private void sweep() {
        if (keys.size() >= sweepAt) {
            keys.values()
                    .removeIf(key -> key.lastDeparture <= nowNanos && algorithm.resetTicks(key.state, nowNanos) == 0);
            sweepAt = Math.max(FIRST_SWEEP, 2 * keys.size());
        }
    }

    int size() {
        return keys.size();
    }
}
