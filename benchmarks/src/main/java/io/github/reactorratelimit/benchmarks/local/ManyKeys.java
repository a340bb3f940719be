package io.github.reactorratelimit.benchmarks.local;

import io.github.bucket4j.Bucket;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.local.LocalStore;
import java.time.Duration;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/** Limiters by key. The peers have none in process: theirs are in a ConcurrentHashMap, made when a key is first seen. */
interface ManyKeys {

    /** Whether {@code key} got a permit. */
    boolean ask(String key);

    /** Makes the state of {@code key}, so that it is there from now on. */
    default void enter(String key) {
        ask(key);
    }

    /** The contender of this name, with room for {@code keys}. */
    static ManyKeys of(String contender, int keys) {
        return switch (contender) {
            case Names.OURS -> Ours.of(Ours.SLOW_REFILL, keys);
            case Names.BUCKET4J + Names.IN_A_MAP -> new Bucket4j(new ConcurrentHashMap<>());
            case Names.RESILIENCE4J + Names.IN_A_MAP -> new Resilience4j(new ConcurrentHashMap<>());
            case Names.GUAVA + Names.IN_A_MAP -> new Guava(new ConcurrentHashMap<>());
            case Names.CLOCK_CAS + Names.IN_A_MAP -> new ClockAndCas(new ConcurrentHashMap<>());
            default -> throw Names.unknown(contender);
        };
    }

    /** Ours. Its bound on keys is there and not reached. */
    record Ours(RateLimiter limiter) implements ManyKeys {

        /** Never spent and never refilled within a run: no key may be forgotten, all of them stay in the table. */
        static final TokenBucket SLOW_REFILL = TokenBucket.of(10_000_000, Duration.ofDays(365));

        private static final int PERMITS_TO_ENTER = 1_000;

        static Ours of(RateLimitPolicy policy, int keys) {
            return new Ours(RateLimiter.builder(policy)
                    .store(LocalStore.withMaxKeys(keys + keys / 16))
                    .build());
        }

        @Override
        public boolean ask(String key) {
            return limiter.tryAcquireNow(key, 1);
        }

        @Override
        public void enter(String key) {
            limiter.tryAcquireNow(
                    key, Math.min(PERMITS_TO_ENTER, limiter.policy().capacity()));
        }
    }

    /** One bucket per key. */
    record Bucket4j(ConcurrentHashMap<String, Bucket> buckets) implements ManyKeys {
        @Override
        public boolean ask(String key) {
            Bucket bucket = buckets.get(key);
            if (bucket == null) {
                bucket = buckets.computeIfAbsent(key, absent -> Limit.GENEROUS.bucket4j());
            }
            return bucket.tryConsume(1);
        }
    }

    /** One limiter per key. */
    record Resilience4j(ConcurrentHashMap<String, io.github.resilience4j.ratelimiter.RateLimiter> limiters)
            implements ManyKeys {
        @Override
        public boolean ask(String key) {
            io.github.resilience4j.ratelimiter.RateLimiter limiter = limiters.get(key);
            if (limiter == null) {
                limiter = limiters.computeIfAbsent(key, absent -> Limit.GENEROUS.resilience4j());
            }
            return limiter.acquirePermission(1);
        }
    }

    /** One limiter per key. */
    record Guava(ConcurrentHashMap<String, com.google.common.util.concurrent.RateLimiter> limiters)
            implements ManyKeys {
        @Override
        public boolean ask(String key) {
            com.google.common.util.concurrent.RateLimiter limiter = limiters.get(key);
            if (limiter == null) {
                limiter = limiters.computeIfAbsent(key, absent -> Limit.GENEROUS.guava());
            }
            return limiter.tryAcquire();
        }
    }

    /** The least with an object per key: a look-up, a clock read and one CAS. */
    record ClockAndCas(ConcurrentHashMap<String, AtomicLong> states) implements ManyKeys {
        @Override
        public boolean ask(String key) {
            AtomicLong state = states.get(key);
            if (state == null) {
                state = states.computeIfAbsent(key, absent -> new AtomicLong());
            }
            long seen = state.get();
            long now = System.nanoTime();
            return state.compareAndSet(seen, now) || now != seen;
        }
    }
}
