package io.github.reactorratelimit.examples.replay;

import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.replay.Arrival;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Runs the requests of a log through several policies in one pass. Not thread-safe.
 *
 * <p>Memory does not grow with the length of a log, but with its keys: each policy holds those that have not recovered, and the comparison knows all that
 * it has seen. So there may be no more than {@code mostKeys} different ones.
 *
 * <p>Requests come in the order of the log. One whose time lies before that of the one ahead of it, as servers write them when
 * they log a request at its end, counts as if it had come with that one.
 */
public final class Comparison {

    /** Keys that are counted exactly, for each policy. */
    static final int KEYS = 50_000;

    private final Map<String, RateLimitPolicy> policies;
    private final @Nullable Duration maxWait;
    private final int mostKeys;
    private final Set<String> keys = new HashSet<>();
    private final List<PolicyRun> runs = new ArrayList<>();
    private final FrequentKeys requests = new FrequentKeys(KEYS);
    private final Timeline timeline;
    private long firstNanos;
    private long latestNanos;
    private long arrivals;
    private long outOfOrder;
    private long withoutKey;

    private Comparison(Map<String, RateLimitPolicy> policies, @Nullable Duration maxWait, int mostKeys) {
        this.policies = policies;
        this.maxWait = maxWait;
        this.mostKeys = mostKeys;
        this.timeline = new Timeline(1 + 2 * policies.size());
    }

    /**
     * A comparison that has seen nothing yet.
     *
     * @param policies in words, see {@link PolicyText}
     * @param maxWait how long a request may wait; zero denies what finds no permit; null does too, but a request waits in the queue of a leaky bucket
     * @param mostKeys how many different keys it takes
     * @throws IllegalArgumentException if one of them is no policy
     */
    public static Comparison of(List<String> policies, @Nullable Duration maxWait, int mostKeys) {
        Map<String, RateLimitPolicy> parsed = new LinkedHashMap<>();
        policies.forEach(text -> parsed.put(text, PolicyText.parse(text)));
        return new Comparison(parsed, maxWait, mostKeys);
    }

    /**
     * The next request of the log.
     *
     * @throws TooManyKeysException if it has one key more than are taken
     */
    public void add(LogRecord request) {
        if (keys.add(request.key()) && keys.size() > mostKeys) {
            throw new TooManyKeysException(mostKeys);
        }
        if (arrivals == 0) {
            begin(request.epochNanos());
        }
        if (request.epochNanos() < latestNanos) {
            outOfOrder++;
        }
        latestNanos = Math.max(latestNanos, request.epochNanos());
        arrivals++;
        withoutKey += request.isWithoutKey() ? 1 : 0;
        requests.add(request.key());
        long at = latestNanos - firstNanos;
        timeline.add(0, at);
        Arrival arrival = Arrival.at(Duration.ofNanos(at), request.key());
        for (PolicyRun run : runs) {
            run.add(arrival);
        }
    }

    private void begin(long epochNanos) {
        firstNanos = epochNanos;
        latestNanos = epochNanos;
        Instant start = Instant.EPOCH.plusNanos(epochNanos);
        policies.forEach(
                (text, policy) -> runs.add(new PolicyRun(text, policy, maxWait, start, timeline, 1 + 2 * runs.size())));
    }

    /** What came of it so far. */
    public ReplayReport report(long unreadable, int worst) {
        return new ReplayReport(
                arrivals,
                unreadable,
                outOfOrder,
                withoutKey,
                Instant.EPOCH.plusNanos(firstNanos),
                Instant.EPOCH.plusNanos(latestNanos),
                Duration.ofNanos(timeline.bucketNanos()),
                timeline.counts(0),
                runs.stream().map(run -> run.outcome(requests, worst)).toList());
    }
}
