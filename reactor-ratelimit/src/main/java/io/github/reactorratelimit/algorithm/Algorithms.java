package io.github.reactorratelimit.algorithm;

import static java.time.Duration.ZERO;

import io.github.reactorratelimit.CompositePolicy;
import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.FixedWindow.Alignment;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.PolicyVisitor;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.SlidingWindowCounter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.WarmUp;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/**
 * Finds the algorithm and the traits of a policy. The only place that tells the kinds of policies apart: a
 * new kind does not compile without its method here.
 */
public final class Algorithms {

    private static final Kinds EXACT = new Kinds(Long.MAX_VALUE);
    private static final Kinds ROUNDED = new Kinds(RateArithmetic.MAX_PACKED_PARTS_PER_TICK);

    private Algorithms() {}

    /**
     * Where a store's clock stands.
     *
     * @param tick its unit
     * @param epochOffset ticks to add to its time to get ticks since 1970-01-01T00:00Z; 0 if it counts from
     *     there
     * @param start its time when the limiter started, for initial tokens
     */
    public record Clock(Tick tick, long epochOffset, long start) {}

    /**
     * The steps of a policy.
     *
     * @throws IllegalArgumentException if they cannot be exact to the promised 0.1 % at this tick
     */
    public static Algorithm<?> of(RateLimitPolicy policy, Clock clock) {
        return policy.accept(EXACT).steps.apply(clock);
    }

    /** The same steps over one long, where the state fits. */
    public static Optional<LongAlgorithm> asLong(RateLimitPolicy policy, Clock clock) {
        return of(policy, clock).compact() instanceof LongAlgorithm steps ? Optional.of(steps) : Optional.empty();
    }

    /**
     * Like {@link #asLong} for a GCRA or a token bucket with continuous refill, and empty for all else. An
     * interval whose fraction is too fine for a long is rounded up to the next 64th of a tick.
     *
     * @throws IllegalArgumentException if the rate cannot be kept to the promised 0.1 % this way
     */
    public static Optional<LongAlgorithm> asRoundedLong(RateLimitPolicy policy, Clock clock) {
        if (!(policy.accept(ROUNDED).steps.apply(clock) instanceof DeficitAlgorithm rounded)
                || !(rounded.arithmetic() instanceof BucketArithmetic)) {
            return Optional.empty();
        }
        if (rounded.compact() instanceof LongAlgorithm steps) {
            return Optional.of(steps);
        }
        throw new IllegalArgumentException(
                policy + " takes too long to recover to be counted in one long; lower its capacity");
    }

    /** The properties of a policy that stores and queues need. */
    public static PolicyTraits traits(RateLimitPolicy policy) {
        return policy.accept(EXACT).traits;
    }

    /**
     * The integers of a GCRA, a leaky bucket or a token bucket with continuous refill, and empty for all
     * else.
     *
     * @throws IllegalArgumentException if the rate cannot be kept to the promised 0.1 % at this tick
     */
    public static Optional<Rate> rate(RateLimitPolicy policy, Tick tick) {
        return of(policy, new Clock(tick, 0, 0)) instanceof DeficitAlgorithm steps
                ? Optional.of(steps.rate())
                : Optional.empty();
    }

    /** The integers of a warm-up at the rate of a cold key, for its twin in another language. */
    public static Rate warmUpRate(WarmUp warmUp, Tick tick) {
        RateArithmetic.Fraction interval = WarmUpAlgorithm.of(warmUp, tick).interval();
        return new Rate(interval.partsPerTick(), interval.partsPerPermit(), 0);
    }

    /** All that depends on a policy's kind. */
    private record Kind(PolicyTraits traits, Function<Clock, Algorithm<?>> steps) {}

    /** @param finest a rate is counted in no more parts per tick than this */
    private record Kinds(long finest) implements PolicyVisitor<Kind> {

        @Override
        public Kind visit(TokenBucket bucket) {
            PolicyTraits traits = PolicyTraits.ofRate(bucket, bucket.capacity(), bucket.period());
            if (bucket.style() == TokenBucket.Refill.STEPWISE) {
                return new Kind(
                        traits.withPhase(bucket.period()),
                        clock -> new StepwiseAlgorithm(
                                bucket, clock.tick.ticks("period", bucket.period()), clock.tick.exactBelow()));
            }
            return new Kind(traits, clock -> {
                RateArithmetic arithmetic = BucketArithmetic.of(
                        bucket.refill(), bucket.period(), "capacity", bucket.capacity(), clock.tick, finest);
                long missing = arithmetic.costParts(bucket.capacity() - bucket.initialTokens());
                // A key first seen later has what it would have by then, so forgetting a full key changes no decision.
                return new DeficitAlgorithm(
                        bucket, arithmetic, missing == 0 ? Deficit.NEVER : new Deficit(clock.start, missing));
            });
        }

        @Override
        public Kind visit(Gcra gcra) {
            return new Kind(
                    PolicyTraits.ofRate(gcra, gcra.burst(), ZERO),
                    clock -> new DeficitAlgorithm(
                            gcra,
                            BucketArithmetic.of(
                                    gcra.permits(), gcra.period(), "burst", gcra.burst(), clock.tick, finest),
                            Deficit.NEVER));
        }

        @Override
        public Kind visit(LeakyBucket bucket) {
            PolicyTraits traits = PolicyTraits.ofRate(bucket, bucket.queueCapacity() + 1, ZERO)
                    .catchingUp(!bucket.strict())
                    .notPrepaid(
                            "a leaky bucket gives each permit its time, and one that is held would leave at another");
            return new Kind(
                    traits,
                    clock -> new DeficitAlgorithm(
                            bucket,
                            QueueArithmetic.of(bucket.permits(), bucket.period(), bucket.queueCapacity(), clock.tick),
                            Deficit.NEVER));
        }

        @Override
        public Kind visit(WarmUp warmUp) {
            PolicyTraits traits = PolicyTraits.ofRate(
                            warmUp, warmUp.permits(), warmUp.warmUp().multipliedBy(2))
                    .notPrepaid("a warm-up gives each permit its time, and one that is held would leave at another");
            return new Kind(traits, clock -> WarmUpAlgorithm.of(warmUp, clock.tick));
        }

        @Override
        public Kind visit(FixedWindow window) {
            PolicyTraits traits = PolicyTraits.of(window.window());
            if (window.alignment() instanceof Alignment.Calendar calendar) {
                return new Kind(
                        traits,
                        clock -> new WindowAlgorithm(
                                window, CalendarWindows.of(calendar, clock.tick, clock.epochOffset)));
            }
            return window.alignment() instanceof Alignment.FirstRequest
                    ? new Kind(
                            traits.withPhase(window.window()),
                            clock -> new WindowAlgorithm(
                                    window, new WindowGrid.FirstRequest(clock.tick.ticks("window", window.window()))))
                    : new Kind(traits, clock -> new WindowAlgorithm(window, grid(window.window(), clock)));
        }

        @Override
        public Kind visit(SlidingWindowLog log) {
            PolicyTraits traits = PolicyTraits.of(log.window())
                    .notPrepaid("a log is exact in every window, and a permit that is held is spent later than it was"
                            + " logged; a SlidingWindowCounter can be leased");
            return new Kind(traits, clock -> new LogAlgorithm(log, clock.tick.ticks("window", log.window())));
        }

        @Override
        public Kind visit(SlidingWindowCounter counter) {
            return new Kind(
                    PolicyTraits.of(counter.window().multipliedBy(2)),
                    clock -> new CounterAlgorithm(
                            counter,
                            grid(counter.window(), clock),
                            WindowResolution.of(counter, clock.tick),
                            clock.tick.exactBelow()));
        }

        @Override
        public Kind visit(ConcurrencyLimit limit) {
            PolicyTraits traits = PolicyTraits.of(limit.lease())
                    .notPrepaid("permits of a concurrency limit come back when the work ends, and one that is held does"
                            + " no work");
            return new Kind(traits, clock -> new ConcurrencyAlgorithm(limit));
        }

        @Override
        public Kind visit(CompositePolicy composite) {
            List<Kind> parts =
                    composite.parts().stream().map(part -> part.accept(this)).toList();
            return new Kind(
                    PolicyTraits.ofAll(parts.stream().map(Kind::traits).toList()),
                    clock -> new CompositeAlgorithm(
                            composite,
                            parts.stream().map(part -> part.steps.apply(clock)).toList()));
        }

        private static WindowGrid.Epoch grid(Duration window, Clock clock) {
            return new WindowGrid.Epoch(clock.tick.ticks("window", window), clock.epochOffset);
        }
    }
}
