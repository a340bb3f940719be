package io.github.reactorratelimit.redis.harness;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.redis.FailureMode;
import io.github.reactorratelimit.redis.RedisStore;
import io.github.reactorratelimit.testing.Await;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Limiters of every failure mode under load, on one connection. */
final class FaultLoad {

    static final TokenBucket BUCKET = TokenBucket.perSecond(100).withBurst(50);

    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final Duration MAX_WAIT = Duration.ofSeconds(1);

    /** Nothing flows back while the test runs: what is spent can be read from what remains. */
    private static final FixedWindow LEDGER = FixedWindow.of(1_000_000_000, Duration.ofDays(200));

    private final Lanes bucket;
    private final Lanes ledger;
    private final Lanes local;
    private final Lanes waiting;
    private final List<Lanes> all;

    FaultLoad(String run, RedisStore store) {
        RedisStore closed = store.whenUnavailable(FailureMode.closed());
        bucket = new Lanes(run + "-bucket", BUCKET, closed, limiter -> limiter.tryAcquire(Lanes.KEY));
        ledger = new Lanes(
                run + "-ledger",
                LEDGER,
                store.whenUnavailable(FailureMode.open()),
                limiter -> limiter.tryAcquire(Lanes.KEY));
        local = new Lanes(
                run + "-local",
                BUCKET,
                store.whenUnavailable(FailureMode.local(BUCKET.share(5))),
                limiter -> limiter.tryAcquire(Lanes.KEY));
        waiting = new Lanes(
                run + "-waiting",
                Gcra.perSecond(100).withBurst(10),
                closed,
                limiter -> limiter.acquire(Lanes.KEY, 1, MAX_WAIT));
        all = List.of(bucket, ledger, local, waiting);
    }

    /** The name of the limiter whose grants are held against the bound, and with it the tag of its key. */
    static String bucketTag(String run) {
        return "{" + run + "-bucket:" + Lanes.KEY + "}";
    }

    void start() {
        all.forEach(Lanes::start);
        awaitNormal();
    }

    /** Waits until everyone is answered by Redis again. */
    void awaitNormal() {
        all.forEach(Lanes::awaitsNormal);
        Await.until("decisions by Redis", PATIENCE, () -> all.stream().allMatch(Lanes::isNormal));
    }

    /** Ends the load; the number of those who are still without an answer after a long time. */
    long stop() {
        all.forEach(Lanes::stop);
        try {
            Await.until("everybody answered", PATIENCE, () -> all.stream().allMatch(lanes -> lanes.open() == 0));
        } catch (AssertionError hung) {
            return all.stream().mapToLong(Lanes::open).sum();
        }
        return 0;
    }

    void close() {
        all.forEach(lanes -> lanes.limiter().close().block(PATIENCE));
    }

    /** Permits that Redis says were spent in the ledger. */
    long spent() {
        Decision seen = ledger.limiter().peek(Lanes.KEY).block(PATIENCE);
        if (seen.degraded()) {
            throw new IllegalStateException("Redis is not back: " + seen);
        }
        return LEDGER.limit() - seen.remaining();
    }

    Lanes bucket() {
        return bucket;
    }

    Lanes ledger() {
        return ledger;
    }

    long asked() {
        return all.stream().mapToLong(Lanes::asked).sum();
    }

    /** Those who wait are left out: while they wait, one decision after the other may be made for them. */
    long degraded() {
        return bucket.degraded() + ledger.degraded() + local.degraded();
    }

    long countedAsDegraded() {
        return bucket.countedAsDegraded() + ledger.countedAsDegraded() + local.countedAsDegraded();
    }

    long lastDegradedNanos() {
        return all.stream().mapToLong(Lanes::lastDegradedNanos).max().orElseThrow();
    }

    Map<String, Long> errors() {
        Map<String, Long> errors = new TreeMap<>();
        all.forEach(lanes -> lanes.errors().forEach((error, count) -> errors.merge(error, count, Long::sum)));
        return errors;
    }
}
