package io.github.reactorratelimit.benchmarks.local;

import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.Policies;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.SlidingWindowCounter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.WarmUp;
import io.github.reactorratelimit.benchmarks.Contender;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * Limiters that decide in memory. This library finds a key in its table; a peer is at hand, or in a {@code
 * ConcurrentHashMap} that nothing ever leaves, with a limiter per key.
 */
@SuppressWarnings("ImmutableEnumChecker")
public enum LocalContender implements Contender {
    TOKEN_BUCKET("reactor-ratelimit, token bucket", Limit::tokenBucket),
    GCRA(
            "reactor-ratelimit, GCRA",
            limit -> Gcra.of(limit.permits, limit.period).withBurst(limit.burst)),
    LEAKY_BUCKET("reactor-ratelimit, leaky bucket", limit -> LeakyBucket.of(limit.permits, limit.period)),
    STEPWISE_BUCKET(
            "reactor-ratelimit, stepwise token bucket",
            limit -> limit.tokenBucket().stepwise()),
    FIXED_WINDOW("reactor-ratelimit, fixed window", limit -> FixedWindow.of(limit.permits, limit.period)),
    SLIDING_WINDOW_COUNTER(
            "reactor-ratelimit, sliding window counter", limit -> SlidingWindowCounter.of(limit.permits, limit.period)),
    SLIDING_WINDOW_LOG(
            "reactor-ratelimit, sliding window log", limit -> SlidingWindowLog.of(limit.permits, limit.period)),
    /** Younger than some baselines. */
    WARM_UP(
            "reactor-ratelimit, warm-up",
            limit -> WarmUp.of(limit.permits, limit.period, limit.period.multipliedBy(30))) {
        @Override
        public boolean comparesJars() {
            return false;
        }
    },
    ALL_OF_TWO("reactor-ratelimit, Policies.all of two", limit -> Policies.all(limit.tokenBucket(), limit.wider(2))),
    ALL_OF_THREE(
            "reactor-ratelimit, Policies.all of three",
            limit -> Policies.all(limit.tokenBucket(), limit.wider(2), limit.wider(3))),

    BUCKET4J(Kind.PEER, "Bucket4j", limit -> {
        var bucket = limit.bucket4j(1);
        return (key, permits) -> bucket.tryConsume(permits);
    }),
    BUCKET4J_TWO(Kind.PEER, "Bucket4j, two bandwidths", limit -> {
        var bucket = limit.bucket4j(2);
        return (key, permits) -> bucket.tryConsume(permits);
    }),
    BUCKET4J_THREE(Kind.PEER, "Bucket4j, three bandwidths", limit -> {
        var bucket = limit.bucket4j(3);
        return (key, permits) -> bucket.tryConsume(permits);
    }),
    RESILIENCE4J(Kind.PEER, "Resilience4j", limit -> {
        var limiter = limit.resilience4j();
        return (key, permits) -> limiter.acquirePermission((int) permits);
    }),
    GUAVA(Kind.PEER, "Guava", limit -> {
        var limiter = limit.guava();
        return (key, permits) -> limiter.tryAcquire((int) permits);
    }),
    FAILSAFE(Kind.PEER, "Failsafe, bursty", limit -> {
        var limiter = limit.failsafe();
        return (key, permits) -> limiter.tryAcquirePermits((int) permits);
    }),
    BUCKET4J_IN_MAP(
            Kind.PEER,
            "Bucket4j in a map",
            limit -> new InMap<>(() -> limit.bucket4j(1), (bucket, permits) -> bucket.tryConsume(permits))),
    RESILIENCE4J_IN_MAP(
            Kind.PEER,
            "Resilience4j in a map",
            limit -> new InMap<>(limit::resilience4j, (limiter, permits) -> limiter.acquirePermission((int) permits))),
    GUAVA_IN_MAP(
            Kind.PEER,
            "Guava in a map",
            limit -> new InMap<>(limit::guava, (limiter, permits) -> limiter.tryAcquire((int) permits))),

    CLOCK_AND_CAS(Kind.FLOOR, "clock and CAS", limit -> {
        FastClock clock = new FastClock(limit.speed);
        AtomicLong state = new AtomicLong();
        return (key, permits) -> compareAndSet(state, clock);
    }),
    CLOCK_AND_CAS_IN_MAP(Kind.FLOOR, "clock and CAS in a map", limit -> {
        FastClock clock = new FastClock(limit.speed);
        return new InMap<>(AtomicLong::new, (state, permits) -> compareAndSet(state, clock));
    }),
    /** The floor of a denial. */
    CLOCK_AND_READ(Kind.FLOOR, "clock and volatile read", limit -> {
        FastClock clock = new FastClock(limit.speed);
        AtomicLong until = new AtomicLong(limit.period.toNanos());
        return (key, permits) -> clock.currentTimeNanos() >= until.get();
    });

    /** A limiter that decides at once. */
    interface Decider {
        boolean tryAcquire(String key, long permits);
    }

    private interface Opener {
        Decider open(Limit limit, int keys);
    }

    private final Kind kind;
    private final String label;
    private final Opener opener;

    LocalContender(String label, Function<Limit, RateLimitPolicy> policy) {
        this.kind = Kind.OURS;
        this.label = label;
        this.opener = (limit, keys) -> {
            RateLimiter limiter = limit.limiter(policy.apply(limit), keys);
            return (key, permits) -> FastPath.tryAcquire(limiter, key, permits);
        };
    }

    LocalContender(Kind kind, String label, Function<Limit, Decider> opener) {
        this.kind = kind;
        this.label = label;
        this.opener = (limit, keys) -> opener.apply(limit);
    }

    @Override
    public Kind kind() {
        return kind;
    }

    @Override
    public String label() {
        return label;
    }

    /** A new limiter with room for {@code keys}. */
    Decider open(Limit limit, int keys) {
        return opener.open(limit, keys);
    }

    /** One CAS; a limiter would retry if it failed. */
    private static boolean compareAndSet(AtomicLong state, FastClock clock) {
        long seen = state.get();
        long now = clock.currentTimeNanos();
        return state.compareAndSet(seen, now) || now != seen;
    }

    private interface Request<T> {
        boolean tryAcquire(T limiter, long permits);
    }

    private record InMap<T>(ConcurrentHashMap<String, T> limiters, Supplier<T> factory, Request<T> request)
            implements Decider {

        InMap(Supplier<T> factory, Request<T> request) {
            this(new ConcurrentHashMap<>(), factory, request);
        }

        @Override
        public boolean tryAcquire(String key, long permits) {
            T limiter = limiters.get(key);
            if (limiter == null) {
                limiter = limiters.computeIfAbsent(key, absent -> factory.get());
            }
            return request.tryAcquire(limiter, permits);
        }
    }
}
