package io.github.reactorratelimit.replay;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.Saturated;
import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.algorithm.Algorithms;
import io.github.reactorratelimit.algorithm.Tick;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import java.util.Spliterator;
import java.util.Spliterators;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/**
 * Runs arrivals through a policy and decides them as a limiter would have done: to the nanosecond, and the same every time.
 * A limiter's timers may be late; a replay's departures are the planned ones.
 *
 * <pre>{@code
 * List<Arrival> log = List.of(
 *         Arrival.at(Duration.ZERO, "alice"),
 *         Arrival.at(Duration.ofMillis(10), "alice"),
 *         Arrival.at(Duration.ofMillis(20), "bob"));
 *
 * Replay.of(TokenBucket.perSecond(10).withBurst(1)).run(log).summary();             // alice is denied once
 * Replay.of(LeakyBucket.perSecond(10)).delaying(Duration.ofSeconds(2)).run(log);    // and leaves at 100 ms here
 * }</pre>
 *
 * <p>An immutable description; each run starts with fresh keys. Arrivals must be in the order of their times. An arrival that
 * requests more permits than the capacity is denied without a retry-after.
 */
public final class Replay {

    private final RateLimitPolicy policy;
    private final long maxWaitNanos;
    private final Instant start;

    private Replay(RateLimitPolicy policy, long maxWaitNanos, Instant start) {
        this.policy = policy;
        this.maxWaitNanos = maxWaitNanos;
        this.start = start;
    }

    /**
     * Replays a policy without waiting, like {@code tryAcquire}.
     *
     * @throws IllegalArgumentException for a {@link ConcurrencyLimit}: arrivals do not tell when work ends
     */
    public static Replay of(RateLimitPolicy policy) {
        Objects.requireNonNull(policy, "policy");
        if (policy.needsRelease()) {
            throw new IllegalArgumentException("policy must not be a ConcurrencyLimit: its permits come back when work"
                    + " ends, which arrivals do not tell");
        }
        return new Replay(policy, 0, Instant.EPOCH);
    }

    /** The same, but arrivals wait in one queue per key, without a limit of time. */
    public Replay delaying() {
        return new Replay(policy, Long.MAX_VALUE, start);
    }

    /**
     * The same, but arrivals wait in one queue per key. An arrival is denied, at no cost, if it would wait longer than
     * {@code maxWait} or finds the queue of a {@link LeakyBucket} full.
     */
    public Replay delaying(Duration maxWait) {
        Objects.requireNonNull(maxWait, "maxWait");
        if (maxWait.isNegative()) {
            throw new IllegalArgumentException("maxWait must not be negative, was " + maxWait);
        }
        return new Replay(policy, Saturated.nanos(maxWait), start);
    }

    /** The same for a log that started then, for windows aligned to the epoch or a calendar; 1970-01-01T00:00Z if not given. */
    public Replay startingAt(Instant start) {
        Objects.requireNonNull(start, "start");
        nanosSinceEpoch(start);
        return new Replay(policy, maxWaitNanos, start);
    }

    /** The decisions of all arrivals, in their order, in memory. */
    public ReplayResult run(Iterable<Arrival> arrivals) {
        List<ReplayEvent> events = new ArrayList<>();
        DelayHistogram histogram = new DelayHistogram();
        ReplayedKeys<?> keys = keys();
        for (Arrival arrival : arrivals) {
            ReplayEvent event = keys.next(arrival);
            events.add(event);
            histogram.add(event);
        }
        return new ReplayResult(events, histogram.summary());
    }

    /** The decision of each arrival, one by one. Memory grows only with the keys that have not recovered. */
    public Stream<ReplayEvent> events(Stream<Arrival> arrivals) {
        ReplayedKeys<?> keys = keys();
        Iterator<Arrival> iterator = arrivals.iterator();
        Iterator<ReplayEvent> events = new Iterator<>() {
            @Override
            public boolean hasNext() {
                return iterator.hasNext();
            }

            @Override
            public ReplayEvent next() {
                return keys.next(iterator.next());
            }
        };
        int traits = Spliterator.ORDERED | Spliterator.NONNULL | Spliterator.IMMUTABLE;
        return StreamSupport.stream(Spliterators.spliteratorUnknownSize(events, traits), false)
                .onClose(arrivals::close);
    }

    /** The replay in numbers. Memory grows only with the keys that have not recovered. */
    public ReplaySummary summarize(Stream<Arrival> arrivals) {
        DelayHistogram histogram = new DelayHistogram();
        try (Stream<ReplayEvent> events = events(arrivals)) {
            events.forEachOrdered(histogram::add);
        }
        return histogram.summary();
    }

    ReplayedKeys<?> keys() {
        long epochOffset = nanosSinceEpoch(start);
        return keys(Algorithms.of(policy, new Algorithms.Clock(Tick.NANOSECOND, epochOffset, 0)));
    }

    private <S> ReplayedKeys<S> keys(Algorithm<S> algorithm) {
        return new ReplayedKeys<>(algorithm, maxWaitNanos, policy.queueCapacity());
    }

    private static long nanosSinceEpoch(Instant start) {
        try {
            return Duration.between(Instant.EPOCH, start).toNanos();
        } catch (ArithmeticException tooFar) {
            throw new IllegalArgumentException("start must lie within 292 years of 1970, was " + start, tooFar);
        }
    }
}
