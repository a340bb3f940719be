package io.github.reactorratelimit.benchmarks.waiting;

import io.github.bucket4j.Bucket;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.benchmarks.Contender;
import java.time.Duration;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import reactor.core.publisher.Mono;

/** Limiters whose callers wait for one permit of one key. */
public enum WaitContender implements Contender {
    ACQUIRE(Kind.OURS, "reactor-ratelimit, acquire") {
        @Override
        Waiting open(long permits, Duration period, int waiters) {
            return ours(permits, period, waiters, Duration.ofNanos(Long.MAX_VALUE));
        }
    },
    ACQUIRE_WITH_MAX_WAIT(Kind.OURS, "reactor-ratelimit, acquire with maxWait") {
        @Override
        Waiting open(long permits, Duration period, int waiters) {
            return ours(permits, period, waiters, Duration.ofDays(365));
        }
    },
    /** Its future as a Mono: it has no operator. */
    BUCKET4J(Kind.PEER, "Bucket4j, asScheduler") {
        @Override
        Waiting open(long permits, Duration period, int waiters) {
            ScheduledExecutorService executor = Executors.newSingleThreadScheduledExecutor();
            Bucket bucket = Bucket.builder()
                    .addLimit(limit -> limit.capacity(1).refillGreedy(permits, period))
                    .withNanosecondPrecision()
                    .build();
            return new Waiting(Mono.fromFuture(() -> bucket.asScheduler().consume(1, executor)), executor::shutdownNow);
        }
    };

    /**
     * An open limiter.
     *
     * @param permit waits for a permit when it is subscribed to
     * @param closer ends it
     */
    record Waiting(Mono<?> permit, Runnable closer) implements AutoCloseable {
        @Override
        public void close() {
            closer.run();
        }
    }

    private static final String KEY = "customer-4711";

    private final Kind kind;
    private final String label;

    WaitContender(Kind kind, String label) {
        this.kind = kind;
        this.label = label;
    }

    @Override
    public Kind kind() {
        return kind;
    }

    @Override
    public String label() {
        return label;
    }

    /** A limiter with a burst of 1 and room for so many waiters. */
    abstract Waiting open(long permits, Duration period, int waiters);

    private static Waiting ours(long permits, Duration period, int waiters, Duration maxWait) {
        RateLimiter limiter = RateLimiter.builder(
                        TokenBucket.of(permits, period).withBurst(1))
                .maxWaiters(waiters)
                .build();
        return new Waiting(limiter.acquire(KEY, 1, maxWait), limiter::dispose);
    }
}
