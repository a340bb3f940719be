package io.github.reactorratelimit.local;

import static java.time.Duration.ofNanos;

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
import io.github.reactorratelimit.algorithm.Algorithms;
import io.github.reactorratelimit.algorithm.Tick;
import java.util.List;
import java.util.function.LongSupplier;

/** What the tests of the key table share. */
final class Tables {

    static final Algorithms.Clock CLOCK = new Algorithms.Clock(Tick.NANOSECOND, 0, 0);
    static final boolean FULL = Boolean.getBoolean("ratelimit.tests.full");
    static final String KEY = "key";

    private Tables() {}

    static KeyTable of(RateLimitPolicy policy, int maxKeys) {
        return KeyTables.of(policy, CLOCK, maxKeys, KeyTables.OVERFLOW_CELLS, null);
    }

    static KeyTable of(RateLimitPolicy policy, int maxKeys, int overflowCells) {
        return KeyTables.of(policy, CLOCK, maxKeys, overflowCells, null);
    }

    /** Takes permits on the fast path, else on the other: 0 if they were taken, else the ticks to wait. */
    static long tryDebit(KeyTable table, String key, long at, long permits) {
        return table.tryTake(key, at, permits)
                ? 0
                : table.debit(key, at, permits).waitTicks();
    }

    /** The cells of a table. */
    static CellMap<?> cells(KeyTable table) {
        return ((BoundedKeyTable<?>) table).cells();
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
                WarmUp.of(5, ofNanos(10), ofNanos(50)),
                FixedWindow.of(5, ofNanos(50)),
                FixedWindow.of(5, ofNanos(50)).fromFirstRequest(),
                SlidingWindowLog.of(5, ofNanos(50)),
                SlidingWindowCounter.of(5, ofNanos(50)),
                ConcurrencyLimit.of(5),
                Policies.all(gcra(10, 5), SlidingWindowLog.of(7, ofNanos(100))),
                Policies.all(gcra(10, 5), FixedWindow.of(7, ofNanos(100)).fromFirstRequest()));
    }
}
