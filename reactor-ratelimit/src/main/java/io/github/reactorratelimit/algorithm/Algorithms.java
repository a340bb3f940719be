package io.github.reactorratelimit.algorithm;

import io.github.reactorratelimit.CompositePolicy;
import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.SlidingWindowCounter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import java.time.Duration;
import java.util.Optional;

/** Finds the algorithm of a policy. */
public final class Algorithms {

    private Algorithms() {}

    /**
     * Where a store's clock stands.
     *
     * @param tick its unit
     * @param epochOffset ticks to add to its time to get ticks since 1970-01-01T00:00Z; 0 if it counts from there
     * @param start its time when the limiter started, for initial tokens
     */
    public record Clock(Tick tick, long epochOffset, long start) {}

    /**
     * The steps of a policy.
     *
     * @throws IllegalArgumentException if they cannot be exact to the promised 0.1 % at this tick
     */
    public static Algorithm<?> of(RateLimitPolicy policy, Clock clock) {
        if (policy instanceof FixedWindow window) {
            return new WindowAlgorithm(window, WindowGrid.of(window, clock));
        }
        if (policy instanceof SlidingWindowLog log) {
            return new LogAlgorithm(log, clock.tick().ticks("window", log.window()));
        }
        if (policy instanceof SlidingWindowCounter counter) {
            Grains grains = Grains.of(counter, clock.tick());
            long exactBelow = clock.tick().exactBelow();
            return new CounterAlgorithm(counter, epochGrid(counter.window(), clock), grains, exactBelow);
        }
        if (policy instanceof ConcurrencyLimit concurrency) {
            return new ConcurrencyAlgorithm(concurrency).boxed();
        }
        if (policy instanceof CompositePolicy composite) {
            return new CompositeAlgorithm(
                    composite,
                    composite.parts().stream().map(part -> of(part, clock)).toList());
        }
        if (policy instanceof TokenBucket bucket && bucket.style() == TokenBucket.Refill.STEPWISE) {
            Tick tick = clock.tick();
            return new StepwiseAlgorithm(bucket, tick.ticks("period", bucket.period()), tick.exactBelow());
        }
        Meter meter = meter(policy, clock.tick());
        return new LevelAlgorithm(policy, meter, fresh(policy, meter, clock));
    }

    /** The same steps over one long, where the state fits. */
    public static Optional<LongAlgorithm> asLong(RateLimitPolicy policy, Clock clock) {
        if (policy instanceof ConcurrencyLimit concurrency) {
            return Optional.of(new ConcurrencyAlgorithm(concurrency));
        }
        if (policy instanceof FixedWindow window && window.alignment() instanceof FixedWindow.Alignment.Epoch) {
            WindowGrid.Epoch grid = epochGrid(window.window(), clock);
            return PackedWindowAlgorithm.fits(window, grid)
                    ? Optional.of(new PackedWindowAlgorithm(window, grid))
                    : Optional.empty();
        }
        if (!isMetered(policy)) {
            return Optional.empty();
        }
        Meter meter = meter(policy, clock.tick());
        return meter.partsPerTick <= Meter.MAX_PACKED_PARTS_PER_TICK
                ? Optional.of(new PackedLevelAlgorithm(policy, meter, fresh(policy, meter, clock)))
                : Optional.empty();
    }

    /**
     * Like {@link #asLong} for a GCRA or a token bucket with continuous refill, and empty for all else. An
     * interval whose fraction is too fine for a long is rounded up to the next 64th of a tick.
     *
     * @throws IllegalArgumentException if the rate cannot be kept to the promised 0.1 % this way
     */
    public static Optional<LongAlgorithm> asRoundedLong(RateLimitPolicy policy, Clock clock) {
        if (policy instanceof LeakyBucket || !isMetered(policy)) {
            return Optional.empty();
        }
        Meter meter = bucketMeter(policy, clock.tick(), Meter.MAX_PACKED_PARTS_PER_TICK);
        return Optional.of(new PackedLevelAlgorithm(policy, meter, fresh(policy, meter, clock)));
    }

    private static boolean isMetered(RateLimitPolicy policy) {
        return policy instanceof Gcra
                || policy instanceof LeakyBucket
                || (policy instanceof TokenBucket bucket && bucket.style() == TokenBucket.Refill.CONTINUOUS);
    }

    static Meter meter(RateLimitPolicy policy, Tick tick) {
        if (policy instanceof LeakyBucket leaky) {
            return QueueMeter.of(leaky.permits(), leaky.period(), leaky.queueCapacity(), tick);
        }
        return bucketMeter(policy, tick, Long.MAX_VALUE);
    }

    private static Meter bucketMeter(RateLimitPolicy policy, Tick tick, long mostPartsPerTick) {
        if (policy instanceof Gcra gcra) {
            return BucketMeter.of(gcra.permits(), gcra.period(), "burst", gcra.burst(), tick, mostPartsPerTick);
        }
        if (policy instanceof TokenBucket bucket) {
            return BucketMeter.of(
                    bucket.refill(), bucket.period(), "capacity", bucket.capacity(), tick, mostPartsPerTick);
        }
        throw new IllegalArgumentException("policy must be one of those known here, was " + policy);
    }

    /** A key first seen later has what it would have by then, so forgetting a full key changes no decision. */
    private static Level fresh(RateLimitPolicy policy, Meter meter, Clock clock) {
        long missing = missingParts(policy, meter);
        return missing == 0 ? Level.NEVER : new Level(clock.start(), missing);
    }

    static long missingParts(RateLimitPolicy policy, Meter meter) {
        return policy instanceof TokenBucket bucket ? meter.costParts(bucket.capacity() - bucket.initialTokens()) : 0;
    }

    private static WindowGrid.Epoch epochGrid(Duration window, Clock clock) {
        return new WindowGrid.Epoch(clock.tick().ticks("window", window), clock.epochOffset());
    }
}
