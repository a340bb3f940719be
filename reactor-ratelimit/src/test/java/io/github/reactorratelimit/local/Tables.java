package io.github.reactorratelimit.local;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofNanos;
import static java.time.Duration.ofSeconds;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.Policies;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.SlidingWindowCounter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.algorithm.Algorithms;
import io.github.reactorratelimit.algorithm.Tick;
import java.time.ZoneId;
import java.util.List;
import java.util.Random;
import java.util.function.LongSupplier;

/** What the tests of the key table share. */
final class Tables {

    static final Algorithms.Clock CLOCK = new Algorithms.Clock(Tick.NANOSECOND, 0, 0);
    static final boolean FULL = Boolean.getBoolean("ratelimit.tests.full");
    static final String KEY = "key";

    private Tables() {}

    static KeyTable of(RateLimitPolicy policy, int maxKeys) {
        return KeyTable.of(policy, CLOCK, maxKeys);
    }

    /** A clock that stands at this time. */
    static LongSupplier at(long time) {
        return () -> time;
    }

    /** One permit at a time, each back after so many ticks, so many at once. */
    static Gcra gcra(long intervalNanos, long burst) {
        return Gcra.of(1, ofNanos(intervalNanos)).withBurst(burst);
    }

    /** Small policies of every kind, over longs and over objects, whose states live for at most some hundred ticks. */
    static List<RateLimitPolicy> smallPolicies() {
        return List.of(
                gcra(10, 5),
                TokenBucket.of(5, ofNanos(50)).withInitialTokens(2),
                TokenBucket.of(101, ofNanos(1_013)).withBurst(5),
                TokenBucket.of(2, ofNanos(20)).withBurst(5).stepwise(),
                new LeakyBucket(1, ofNanos(10), 5),
                FixedWindow.of(5, ofNanos(50)),
                FixedWindow.of(5, ofNanos(50)).fromFirstRequest(),
                SlidingWindowLog.of(5, ofNanos(50)),
                SlidingWindowCounter.of(5, ofNanos(50)),
                ConcurrencyLimit.of(5),
                Policies.all(gcra(10, 5), SlidingWindowLog.of(7, ofNanos(100))),
                Policies.all(gcra(10, 5), FixedWindow.of(7, ofNanos(100)).fromFirstRequest()));
    }

    /** Policies of every kind as users write them. */
    static List<RateLimitPolicy> policies() {
        return List.of(
                Gcra.perSecond(100).withBurst(1_000),
                TokenBucket.perSecond(300_000).withBurst(5_000),
                TokenBucket.of(7, ofSeconds(3)),
                TokenBucket.of(1_000_003, ofSeconds(7)).withBurst(2_000),
                TokenBucket.perMinute(100).stepwise(),
                TokenBucket.perSecond(100).withInitialTokens(30),
                LeakyBucket.perSecond(1_000),
                FixedWindow.of(1_000, ofSeconds(10)),
                FixedWindow.of(1_000, ofSeconds(10)).fromFirstRequest(),
                FixedWindow.monthly(10_000, ZoneId.of("Europe/Berlin")),
                SlidingWindowLog.of(1_000, ofSeconds(1)),
                SlidingWindowCounter.of(1_000, ofMillis(100)),
                ConcurrencyLimit.of(50),
                Policies.all(TokenBucket.perSecond(200), SlidingWindowLog.of(150, ofSeconds(1))),
                Policies.all(
                        FixedWindow.of(70, ofSeconds(1)).fromFirstRequest(),
                        TokenBucket.perSecond(90).stepwise(),
                        SlidingWindowCounter.of(80, ofSeconds(1))));
    }

    /** Seeded by {@code -Dratelimit.seed}, else anew; says which. */
    static Random random(String test) {
        long seed = Long.getLong("ratelimit.seed", System.nanoTime());
        System.out.printf("%s: -Dratelimit.seed=%d%n", test, seed);
        return new Random(seed);
    }
}
