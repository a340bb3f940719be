package io.github.reactorratelimit.benchmarks.local;

import io.github.bucket4j.Bucket;
import io.github.reactorratelimit.RateLimiter;
import java.util.concurrent.atomic.AtomicLong;

/** A limiter that all threads ask for one permit. */
interface OneKey {

    /** Whether the permit was given. */
    boolean ask();

    /** The contender of this name. */
    static OneKey of(String contender, Limit limit) {
        return switch (contender) {
            case Names.OURS -> new Ours(RateLimiter.of(limit.tokenBucket()));
            case Names.OURS_GCRA -> new Ours(RateLimiter.of(limit.gcra()));
            case Names.OURS_SMALL -> new Ours(RateLimiter.of(limit.smallTokenBucket()));
            case Names.BUCKET4J -> new Bucket4j(limit.bucket4j());
            case Names.BUCKET4J_NANOS -> new Bucket4j(limit.bucket4jInNanoseconds());
            case Names.RESILIENCE4J -> new Resilience4j(limit.resilience4j());
            case Names.GUAVA -> new Guava(limit.guava());
            case Names.FAILSAFE -> new Failsafe(limit.failsafe());
            case Names.CLOCK -> new Clock(limit.equals(Limit.GENEROUS));
            case Names.CLOCK_CAS -> new ClockAndCas(new AtomicLong(System.nanoTime()));
            case Names.CLOCK_READ ->
                new ClockAndRead(
                        new AtomicLong(System.nanoTime() + limit.period().toNanos()));
            default -> throw Names.unknown(contender);
        };
    }

    /** In process, by key, as the operators ask. */
    record Ours(RateLimiter limiter) implements OneKey {
        @Override
        public boolean ask() {
            return limiter.tryAcquireNow("key", 1);
        }
    }

    /** A bucket in hand, without a look-up by key. */
    record Bucket4j(Bucket bucket) implements OneKey {
        @Override
        public boolean ask() {
            return bucket.tryConsume(1);
        }
    }

    /** A limiter in hand, without a look-up by key. */
    record Resilience4j(io.github.resilience4j.ratelimiter.RateLimiter limiter) implements OneKey {
        @Override
        public boolean ask() {
            return limiter.acquirePermission(1);
        }
    }

    /** A limiter in hand, without a look-up by key. */
    record Guava(com.google.common.util.concurrent.RateLimiter limiter) implements OneKey {
        @Override
        public boolean ask() {
            return limiter.tryAcquire();
        }
    }

    /** A limiter in hand, without a look-up by key. */
    record Failsafe(dev.failsafe.RateLimiter<Object> limiter) implements OneKey {
        @Override
        public boolean ask() {
            return limiter.tryAcquirePermit();
        }
    }

    /** What any limiter with a clock must do. */
    record Clock(boolean allowed) implements OneKey {
        @Override
        public boolean ask() {
            return System.nanoTime() != 0 == allowed;
        }
    }

    /** What any limiter with a clock and shared state must do to take a permit. Whether the CAS succeeds is left to luck. */
    record ClockAndCas(AtomicLong last) implements OneKey {
        @Override
        public boolean ask() {
            long seen = last.get();
            long now = System.nanoTime();
            return last.compareAndSet(seen, now) || now != seen;
        }
    }

    /** What any limiter with a clock and shared state must do to deny. */
    record ClockAndRead(AtomicLong until) implements OneKey {
        @Override
        public boolean ask() {
            return System.nanoTime() - until.get() >= 0;
        }
    }
}
