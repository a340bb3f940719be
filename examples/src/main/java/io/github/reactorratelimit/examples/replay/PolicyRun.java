package io.github.reactorratelimit.examples.replay;

import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.replay.Arrival;
import io.github.reactorratelimit.replay.Replay;
import io.github.reactorratelimit.replay.ReplayEvent;
import java.time.Duration;
import java.time.Instant;
import java.util.Iterator;
import java.util.Objects;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/** One policy of a comparison: what it did with the arrivals so far. */
final class PolicyRun {

    private static final int DIGITS = 3;
    private static final double TAIL_PERCENT = 99;
    private static final Duration LONGEST_QUEUE = Duration.ofDays(1);

    private final String text;
    private final Timeline timeline;
    private final int departures;
    private final Feed feed = new Feed();
    private final Iterator<ReplayEvent> events;
    private final FrequentKeys limited = new FrequentKeys(Comparison.KEYS);
    private final Histogram delaysNanos = new Histogram(DIGITS);
    private long denied;
    private long delayed;

    /** @param departures the series of the timeline that counts them; the next one counts denials */
    PolicyRun(
            String text,
            RateLimitPolicy policy,
            @Nullable Duration maxWait,
            Instant start,
            Timeline timeline,
            int departures) {
        this.text = text;
        this.timeline = timeline;
        this.departures = departures;
        this.events = Replay.of(policy)
                .delaying(maxWait == null ? waitOf(policy) : maxWait)
                .startingAt(start)
                .events(feed.stream())
                .iterator();
    }

    /** A leaky bucket is its queue: one that lets nobody wait would allow a request per interval, and no burst. */
    private static Duration waitOf(RateLimitPolicy policy) {
        return policy.queueCapacity() < Long.MAX_VALUE ? LONGEST_QUEUE : Duration.ZERO;
    }

    /** Hands over one arrival at a time: a replay takes the next one only when asked for what became of it. */
    private static final class Feed implements Iterator<Arrival> {

        private @Nullable Arrival next;

        Stream<Arrival> stream() {
            Iterable<Arrival> once = () -> this;
            return StreamSupport.stream(once.spliterator(), false);
        }

        @Override
        public boolean hasNext() {
            return true;
        }

        @Override
        public Arrival next() {
            return Objects.requireNonNull(next, "next");
        }
    }

    void add(Arrival arrival) {
        feed.next = arrival;
        ReplayEvent event = events.next();
        if (!event.allowed()) {
            denied++;
            limited.add(arrival.key());
            timeline.add(departures + 1, arrival.at().toNanos());
            return;
        }
        long delayNanos = event.delay().toNanos();
        delaysNanos.recordValue(delayNanos);
        delayed += delayNanos > 0 ? 1 : 0;
        timeline.add(departures, arrival.at().toNanos() + delayNanos);
    }

    ReplayReport.Outcome outcome(FrequentKeys requests, int worst) {
        return new ReplayReport.Outcome(
                text,
                delaysNanos.getTotalCount(),
                denied,
                delayed,
                Duration.ofNanos(delaysNanos.getValueAtPercentile(TAIL_PERCENT)),
                Duration.ofNanos(delaysNanos.getMaxValue()),
                limited.size(),
                limited.error() == 0 && requests.error() == 0,
                limited.top(worst).stream()
                        .map(count -> new ReplayReport.LimitedKey(
                                count.key(), count.atLeast(), Math.max(count.atLeast(), requests.atLeast(count.key()))))
                        .toList(),
                timeline.counts(departures),
                timeline.counts(departures + 1));
    }
}
