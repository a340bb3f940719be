package io.github.reactorratelimit.replay;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.algorithm.Reading;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;

/**
 * The keys of one replay, each with its state and its line. Whoever waits is debited ahead, at the time
 * it will leave: nobody overtakes, so nothing that comes later can change that. Not thread-safe.
 */
final class Lanes<S> {

    private static final int FIRST_SWEEP = 1_024;

    private final Algorithm<S> algorithm;
    private final long maxWaitNanos;
    private final long lineCapacity;
    private final Map<String, Lane<S>> lanes = new HashMap<>();
    private int sweepAt = FIRST_SWEEP;
    private long nowNanos;

    /** @param lineCapacity permits that may wait for one key at a time */
    Lanes(Algorithm<S> algorithm, long maxWaitNanos, long lineCapacity) {
        this.algorithm = algorithm;
        this.maxWaitNanos = maxWaitNanos;
        this.lineCapacity = lineCapacity;
    }

    private static final class Lane<S> {

        private final Queue<Waiting> line = new ArrayDeque<>();
        private S state;
        private long lastDeparture = Long.MIN_VALUE;
        private long waitingPermits;

        Lane(S fresh) {
            this.state = fresh;
        }

        void leaveUpTo(long now) {
            for (Waiting head = line.peek(); head != null && head.departure <= now; head = line.peek()) {
                waitingPermits -= head.permits;
                line.remove();
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
        Lane<S> lane = lanes.computeIfAbsent(arrival.key(), key -> new Lane<>(algorithm.fresh()));
        lane.leaveUpTo(now);
        return decide(lane, arrival, now);
    }

    private ReplayEvent decide(Lane<S> lane, Arrival arrival, long now) {
        long from = Math.max(now, lane.lastDeparture);
        if (arrival.permits() > algorithm.capacity()) {
            return denied(lane, arrival, from, Decision.Quota.UNKNOWN);
        }
        long wait = plus(from - now, algorithm.waitTicks(lane.state, from, arrival.permits()));
        boolean lineIsFull = arrival.permits() > lineCapacity - lane.waitingPermits;
        if (wait > maxWaitNanos || (wait > 0 && lineIsFull) || wait > Long.MAX_VALUE - now) {
            return denied(lane, arrival, from, wait);
        }
        return allowed(lane, arrival, now + wait);
    }

    private ReplayEvent allowed(Lane<S> lane, Arrival arrival, long departure) {
        long permits = arrival.permits();
        lane.state = algorithm.debit(lane.state, departure, permits);
        lane.lastDeparture = departure;
        if (departure > nowNanos) {
            lane.line.add(new Waiting(departure, permits));
            lane.waitingPermits += permits;
        }
        Reading reading = algorithm.read(lane.state, departure, 0);
        Decision.Quota quota = new Decision.Quota(reading.limit(), reading.remaining(), reading.resetTicks());
        Decision decision = Decision.wouldAllow(reading.policy(), permits, quota);
        return new ReplayEvent(arrival, decision, Optional.of(Duration.ofNanos(departure)));
    }

    /** Nothing remains while others wait, whatever will be there when the last of them has left. */
    private ReplayEvent denied(Lane<S> lane, Arrival arrival, long from, long wait) {
        boolean possible = wait != Decision.Quota.UNKNOWN;
        Reading reading = algorithm.read(lane.state, from, possible ? arrival.permits() : 0);
        long remaining = from > nowNanos ? 0 : reading.remaining();
        long reset = plus(from - nowNanos, reading.resetTicks());
        RateLimitPolicy binding = reading.policy();
        Decision decision =
                Decision.deny(binding, arrival.permits(), new Decision.Quota(reading.limit(), remaining, reset), wait);
        return new ReplayEvent(arrival, decision, Optional.empty());
    }

    /** Forgets keys that have all their permits again, each time the keys have doubled since the last time. */
    private void sweep() {
        if (lanes.size() >= sweepAt) {
            lanes.values()
                    .removeIf(
                            lane -> lane.lastDeparture <= nowNanos && algorithm.resetTicks(lane.state, nowNanos) == 0);
            sweepAt = Math.max(FIRST_SWEEP, 2 * lanes.size());
        }
    }

    int size() {
        return lanes.size();
    }

    private static long plus(long nanos, long more) {
        return more > Long.MAX_VALUE - nanos ? Long.MAX_VALUE : nanos + more;
    }
}
