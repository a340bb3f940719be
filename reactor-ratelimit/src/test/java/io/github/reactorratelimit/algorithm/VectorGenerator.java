package io.github.reactorratelimit.algorithm;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.Policies;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.SlidingWindowCounter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.WarmUp;
import io.github.reactorratelimit.algorithm.Algorithms.Clock;
import io.github.reactorratelimit.algorithm.ReferenceModel.Grant;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/**
 * Writes the golden vectors: the answers are the reference model's, never the algorithm's. Run it with
 * the directory as argument when a policy's rule changes; {@code backward.csv} is written by hand.
 */
final class VectorGenerator {

    static final long START = 1_758_000_000_000_000L;
    static final Clock CLOCK = new Clock(Tick.MICROSECOND, 0, START);

    private static final String HEADER = """
            # Golden steps, run by every implementation of the algorithm. Times and waits are microseconds.
            # "policy" (or for a composite several "part" lines) starts a new key, first seen by a limiter that started
            # at 1758000000000000. Before each step the state is brought to "now" as for a clock that may go backward.
            # ask: allowed is 1 or 0; remaining and reset are those after the step; retry is 0 if allowed.
            # refund: gives back permits that were debited at debited_at.
            # op,now,permits,debited_at,allowed,remaining,retry,reset
            """;

    private final List<String> lines = new ArrayList<>();
    private ReferenceModel model;
    private long now;
    private long retryAt;
    private List<Grant> grants;

    private VectorGenerator() {}

    public static void main(String[] args) throws IOException {
        Path directory = Path.of(args[0]);
        Files.createDirectories(directory);
        files().forEach((name, policies) -> {
            VectorGenerator generator = new VectorGenerator();
            policies.forEach(generator::boundaries);
            policies.forEach(generator::random);
            try {
                Files.writeString(directory.resolve(name), HEADER + String.join("\n", generator.lines) + "\n");
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
    }

    /** By file; round numbers first, so that a reader can follow them. */
    private static Map<String, List<RateLimitPolicy>> files() {
        Duration second = Duration.ofSeconds(1);
        Map<String, List<RateLimitPolicy>> files = new LinkedHashMap<>();
        files.put(
                "token_bucket.csv",
                List.of(
                        TokenBucket.perSecond(10),
                        TokenBucket.perSecond(10).withInitialTokens(3),
                        TokenBucket.of(7, Duration.ofSeconds(3)),
                        TokenBucket.perSecond(300_000).withBurst(5),
                        new TokenBucket(1_000_000_000, 999_983, second)));
        files.put(
                "gcra.csv",
                List.of(
                        Gcra.perSecond(10),
                        Gcra.perMinute(100).withBurst(1),
                        Gcra.perSecond(2_000_000).withBurst(9)));
        files.put(
                "stepwise_bucket.csv",
                List.of(
                        TokenBucket.perSecond(10).stepwise(),
                        new TokenBucket(5, 2, second).stepwise(),
                        new TokenBucket(3, 7, Duration.ofMillis(3)).stepwise()));
        files.put(
                "leaky_bucket.csv",
                List.of(
                        new LeakyBucket(10, second, 5),
                        new LeakyBucket(3, second, 10),
                        new LeakyBucket(300_000, second, 4)));
        files.put(
                "warm_up.csv",
                List.of(
                        WarmUp.of(10, Duration.ofMillis(1), Duration.ofMillis(16)),
                        WarmUp.of(7, Duration.ofMillis(3), Duration.ofMillis(10)),
                        WarmUp.of(5_000, Duration.ofMillis(1), Duration.ofMillis(5))));
        files.put(
                "fixed_window.csv",
                List.of(
                        FixedWindow.of(5, second),
                        FixedWindow.of(5, second).fromFirstRequest(),
                        FixedWindow.of(7, Duration.ofMillis(7)),
                        FixedWindow.daily(3, ZoneId.of("Europe/Berlin")),
                        FixedWindow.monthly(3, ZoneId.of("America/New_York"))));
        files.put(
                "sliding_log.csv",
                List.of(SlidingWindowLog.of(5, second), SlidingWindowLog.of(100, Duration.ofMillis(3))));
        files.put(
                "sliding_counter.csv",
                List.of(
                        SlidingWindowCounter.of(4, second),
                        SlidingWindowCounter.of(7, Duration.ofMillis(3)),
                        SlidingWindowCounter.of(1, second),
                        SlidingWindowCounter.of(1_000_000, Duration.ofHours(1))));
        files.put("concurrency.csv", List.of(ConcurrencyLimit.of(3)));
        files.put(
                "composite.csv",
                List.of(
                        Policies.all(TokenBucket.perSecond(5), FixedWindow.of(8, Duration.ofMinutes(1))),
                        Policies.all(
                                Gcra.of(7, Duration.ofSeconds(3)),
                                SlidingWindowLog.of(5, second),
                                SlidingWindowCounter.of(9, Duration.ofSeconds(2)))));
        return files;
    }

    private void begin(RateLimitPolicy policy, long at) {
        lines.addAll(VectorPolicies.format(policy));
        model = Scenario.model(policy, CLOCK);
        grants = new ArrayList<>();
        now = at;
    }

    /** All of it, one more, a tick before and at every promised time, refunds early and late. */
    private void boundaries(RateLimitPolicy policy) {
        begin(policy, START);
        ask(1);
        ask(Math.max(1, model.remaining(now)));
        ask(1);
        askAroundRetry(1);
        ask(policy.capacity());
        askAroundRetry(policy.capacity());
        refundYoungest();
        ask(1);
        now += 1;
        ask(1);
        refundYoungest();
        if (model.reset(now) != Algorithm.UNKNOWN) {
            now += Math.max(0, model.reset(now) - 1);
            ask(policy.capacity());
            now += Math.max(1, model.reset(now));
            ask(policy.capacity());
            refundOldest();
        }
    }

    private void random(RateLimitPolicy policy) {
        begin(policy, START + 123_456);
        SplittableRandom random = new SplittableRandom(20_250_916);
        for (int i = 0; i < 60; i++) {
            if (retryAt > now && random.nextInt(2) == 0) {
                now = retryAt - random.nextInt(2);
            } else if (model.reset(now) != Algorithm.UNKNOWN) {
                now += random.nextLong(model.reset(now) / (random.nextInt(3) == 0 ? 1 : 8) + 2);
            }
            if (!grants.isEmpty() && random.nextInt(6) == 0) {
                refund(grants.remove(random.nextInt(grants.size())));
            } else {
                ask(1 + random.nextLong(policy.capacity()));
            }
        }
    }

    private void askAroundRetry(long permits) {
        if (retryAt > now) {
            now = retryAt - 1;
            ask(permits);
            now += 1;
            ask(permits);
        }
    }

    private void ask(long permits) {
        boolean allowed = model.allows(now, permits);
        long retry = allowed ? 0 : model.retry(now, permits);
        retryAt = allowed || retry == Algorithm.UNKNOWN ? now : now + retry;
        if (allowed) {
            model.debit(now, permits);
            grants.add(new Grant(now, permits));
        }
        lines.add("ask," + now + "," + permits + ",," + (allowed ? 1 : 0) + "," + model.remaining(now) + ","
                + ticks(retry) + "," + ticks(model.reset(now)));
    }

    private void refundYoungest() {
        refund(grants.remove(grants.size() - 1));
    }

    private void refundOldest() {
        refund(grants.remove(0));
    }

    private void refund(Grant grant) {
        model.refund(now, grant.at(), grant.permits());
        retryAt = now;
        lines.add("refund," + now + "," + grant.permits() + "," + grant.at() + ",," + model.remaining(now) + ",,"
                + ticks(model.reset(now)));
    }

    private static String ticks(long ticks) {
        return ticks == Algorithm.UNKNOWN ? "unknown" : Long.toString(ticks);
    }
}
