package io.github.reactorratelimit.benchmarks.local;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.Policies;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.SlidingWindowCounter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.local.LocalStore;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Whose memory is measured: ours with each policy, and the limiters by key of {@link ManyKeys}. */
final class MemoryStates {

    static final String TOKEN_BUCKET = "reactor-ratelimit, TokenBucket";
    static final String GCRA = "reactor-ratelimit, Gcra";

    private static final String CONCURRENCY = "reactor-ratelimit, ConcurrencyLimit";
    private static final String LOG_OF_TEN = "reactor-ratelimit, SlidingWindowLog, 10 permits";
    private static final long PERMITS = 100;

    /** A permit comes back after a quarter of an hour: no key is refilled, and so forgotten, while it is measured. */
    private static final Duration PERIOD = Duration.ofDays(1);

    private static final Map<String, RateLimitPolicy> POLICIES = policies();

    private MemoryStates() {}

    private static Map<String, RateLimitPolicy> policies() {
        Map<String, RateLimitPolicy> policies = new LinkedHashMap<>();
        policies.put(TOKEN_BUCKET, TokenBucket.of(PERMITS, PERIOD));
        policies.put(GCRA, Gcra.of(PERMITS, PERIOD));
        policies.put(
                "reactor-ratelimit, TokenBucket, stepwise",
                TokenBucket.of(PERMITS, PERIOD).stepwise());
        policies.put("reactor-ratelimit, LeakyBucket", LeakyBucket.of(PERMITS, PERIOD));
        policies.put("reactor-ratelimit, FixedWindow", FixedWindow.of(PERMITS, PERIOD));
        policies.put("reactor-ratelimit, SlidingWindowCounter", SlidingWindowCounter.of(PERMITS, PERIOD));
        policies.put("reactor-ratelimit, SlidingWindowLog", SlidingWindowLog.of(PERMITS, PERIOD));
        policies.put(LOG_OF_TEN, SlidingWindowLog.of(PERMITS, PERIOD));
        policies.put(
                "reactor-ratelimit, two policies",
                Policies.all(TokenBucket.of(PERMITS, PERIOD), FixedWindow.of(PERMITS, PERIOD)));
        policies.put(CONCURRENCY, ConcurrencyLimit.of(PERMITS));
        return policies;
    }

    static List<String> ours() {
        return List.copyOf(POLICIES.keySet());
    }

    static ManyKeys of(String contender, int keys) {
        RateLimitPolicy policy = POLICIES.get(contender);
        if (policy == null) {
            return ManyKeys.of(contender, keys);
        }
        RateLimiter limiter = RateLimiter.builder(policy)
                .store(LocalStore.withMaxKeys(keys + keys / 16))
                .build();
        return switch (contender) {
            case CONCURRENCY -> new Leases(limiter);
            case LOG_OF_TEN -> new Asks(limiter, 10);
            default -> new Asks(limiter, 1);
        };
    }

    private record Asks(RateLimiter limiter, int times) implements ManyKeys {
        @Override
        public boolean ask(String key) {
            boolean allowed = true;
            for (int i = 0; i < times; i++) {
                allowed &= limiter.tryAcquireNow(key, 1);
            }
            return allowed;
        }
    }

    /** What the holder of a lease keeps is its own and not counted. */
    private record Leases(RateLimiter limiter) implements ManyKeys {
        @Override
        public boolean ask(String key) {
            return limiter.acquireLease(key, 1, Duration.ZERO).block() != null;
        }
    }
}
