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
 * Finds the algorithm and the traits of a policy. The only place that tells the kinds of policies apart: a new kind does not
 * compile without its method here.
 */
public final class Algorithms {

    private static final PolicyVisitor<Kind> KINDS = new Kinds();

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
        return policy.accept(KINDS).steps(clock);
    }

    /** The same steps over one long, where the state fits. */
    public static Optional<LongAlgorithm> asLong(RateLimitPolicy policy, Clock clock) {
        return policy.accept(KINDS).longSteps(clock);
    }

    /**
     * Like {@link #asLong} for a GCRA or a token bucket with continuous refill, and empty for all else. An
     * interval whose fraction is too fine for a long is rounded up to the next 64th of a tick.
     *
     * @throws IllegalArgumentException if the rate cannot be kept to the promised 0.1 % this way
     */
    public static Optional<LongAlgorithm> asRoundedLong(RateLimitPolicy policy, Clock clock) {
        return policy.accept(KINDS).roundedLongSteps(clock);
    }

    /** What stores and queues want to know of a policy. */
    public static PolicyTraits traits(RateLimitPolicy policy) {
        return policy.accept(KINDS).traits();
    }

    /**
     * The integers of a GCRA, a leaky bucket or a token bucket with continuous refill, and empty for all else.
     *
     * @throws IllegalArgumentException if the rate cannot be kept to the promised 0.1 % at this tick
     */
    public static Optional<Rate> rate(RateLimitPolicy policy, Tick tick) {
        return policy.accept(KINDS).rate(tick);
    }

    /** All that depends on a policy's kind. */
    private interface Kind {

        PolicyTraits traits();

        Algorithm<?> steps(Clock clock);

        default Optional<LongAlgorithm> longSteps(Clock clock) {
            return Optional.empty();
        }

        default Optional<LongAlgorithm> roundedLongSteps(Clock clock) {
            return Optional.empty();
        }

        default Optional<Rate> rate(Tick tick) {
            return Optional.empty();
        }
    }

    /** A kind whose states are objects. */
    private record Plain(PolicyTraits traits, Function<Clock, Algorithm<?>> algorithm) implements Kind {

        @Override
        public Algorithm<?> steps(Clock clock) {
            return algorithm.apply(clock);
        }
    }

    /** A kind whose states may fit into one long. */
    private record Packed(
            PolicyTraits traits,
            Function<Clock, Algorithm<?>> algorithm,
            Function<Clock, Optional<LongAlgorithm>> longAlgorithm)
            implements Kind {

        @Override
        public Algorithm<?> steps(Clock clock) {
            return algorithm.apply(clock);
        }

        @Override
        public Optional<LongAlgorithm> longSteps(Clock clock) {
            return longAlgorithm.apply(clock);
        }
    }

    /** The integers of a rate at a tick, with no more parts per tick than given. */
    private interface ArithmeticAt {
        RateArithmetic of(Tick tick, long mostPartsPerTick);
    }

    /**
     * A kind whose permits come back one after the other.
     *
     * @param missingPermits those that a key lacks when the limiter starts
     * @param mayBeRounded whether the interval may be rounded up to fit into a long
     */
    private record Metered(PolicyTraits traits, ArithmeticAt arithmetic, long missingPermits, boolean mayBeRounded)
            implements Kind {

        @Override
        public Algorithm<?> steps(Clock clock) {
            RateArithmetic exact = arithmetic.of(clock.tick, Long.MAX_VALUE);
            return new DeficitAlgorithm(traits.policy(), exact, fresh(exact, clock));
        }

        @Override
        public Optional<LongAlgorithm> longSteps(Clock clock) {
            RateArithmetic exact = arithmetic.of(clock.tick, Long.MAX_VALUE);
            return PackedDeficitAlgorithm.fits(exact) ? Optional.of(packed(exact, clock)) : Optional.empty();
        }

        @Override
        public Optional<LongAlgorithm> roundedLongSteps(Clock clock) {
            if (!mayBeRounded) {
                return Optional.empty();
            }
            RateArithmetic rounded = arithmetic.of(clock.tick, RateArithmetic.MAX_PACKED_PARTS_PER_TICK);
            if (!PackedDeficitAlgorithm.fits(rounded)) {
                throw new IllegalArgumentException(
                        traits.policy() + " takes too long to recover to be counted in one long; lower its capacity");
            }
            return Optional.of(packed(rounded, clock));
        }

        @Override
        public Optional<Rate> rate(Tick tick) {
            RateArithmetic exact = arithmetic.of(tick, Long.MAX_VALUE);
            return Optional.of(new Rate(exact.partsPerTick, exact.partsPerPermit, exact.costParts(missingPermits)));
        }

        private PackedDeficitAlgorithm packed(RateArithmetic arithmetic, Clock clock) {
            return new PackedDeficitAlgorithm(traits.policy(), arithmetic, fresh(arithmetic, clock));
        }

        /** A key first seen later has what it would have by then, so forgetting a full key changes no decision. */
        private Deficit fresh(RateArithmetic arithmetic, Clock clock) {
            return missingPermits == 0 ? Deficit.NEVER : new Deficit(clock.start, arithmetic.costParts(missingPermits));
        }
    }

    private static final class Kinds implements PolicyVisitor<Kind> {

        @Override
        public Kind visit(TokenBucket bucket) {
            PolicyTraits traits =
                    PolicyTraits.of(bucket, bucket.capacity(), bucket.period()).catchingUp(true);
            if (bucket.style() == TokenBucket.Refill.STEPWISE) {
                return new Plain(
                        traits.withPhase(bucket.period()),
                        clock -> new StepwiseAlgorithm(
                                bucket, clock.tick.ticks("period", bucket.period()), clock.tick.exactBelow()));
            }
            ArithmeticAt arithmetic = (tick, most) ->
                    BucketArithmetic.of(bucket.refill(), bucket.period(), "capacity", bucket.capacity(), tick, most);
            return new Metered(traits, arithmetic, bucket.capacity() - bucket.initialTokens(), true);
        }

        @Override
        public Kind visit(Gcra gcra) {
            return new Metered(
                    PolicyTraits.of(gcra, gcra.burst(), ZERO).catchingUp(true),
                    (tick, most) ->
                            BucketArithmetic.of(gcra.permits(), gcra.period(), "burst", gcra.burst(), tick, most),
                    0,
                    true);
        }

        @Override
        public Kind visit(LeakyBucket bucket) {
            PolicyTraits traits = PolicyTraits.of(bucket, bucket.queueCapacity() + 1, ZERO)
                    .catchingUp(!bucket.strict())
                    .notPrepaid(Optional.of("a leaky bucket gives each permit a time of its own, and one that is held"
                            + " would leave at another"));
            return new Metered(
                    traits,
                    (tick, most) -> QueueArithmetic.of(bucket.permits(), bucket.period(), bucket.queueCapacity(), tick),
                    0,
                    false);
        }

        @Override
        public Kind visit(WarmUp warmUp) {
            PolicyTraits traits = PolicyTraits.of(
                            warmUp, warmUp.permits(), warmUp.warmUp().multipliedBy(2))
                    .catchingUp(true)
                    .notPrepaid(Optional.of("a warm-up gives each permit a time of its own, and one that is held would"
                            + " leave at another"));
            return new Plain(traits, clock -> WarmUpAlgorithm.of(warmUp, clock.tick));
        }

        @Override
        public Kind visit(FixedWindow window) {
            PolicyTraits traits = PolicyTraits.of(window, 0, window.window());
            if (window.alignment() instanceof Alignment.Calendar calendar) {
                return new Plain(
                        traits,
                        clock -> new WindowAlgorithm(window, CalendarGrid.of(calendar, clock.tick, clock.epochOffset)));
            }
            if (window.alignment() instanceof Alignment.FirstRequest) {
                return new Plain(
                        traits.withPhase(window.window()),
                        clock -> new WindowAlgorithm(
                                window, new WindowGrid.FirstRequest(clock.tick.ticks("window", window.window()))));
            }
            return new Packed(
                    traits,
                    clock -> new WindowAlgorithm(window, grid(window.window(), clock)),
                    clock -> PackedWindowAlgorithm.of(window, grid(window.window(), clock)));
        }

        @Override
        public Kind visit(SlidingWindowLog log) {
            PolicyTraits traits = PolicyTraits.of(log, 0, log.window())
                    .notPrepaid(Optional.of("a log is exact in every window, and a permit that is held is spent later"
                            + " than it was logged; a SlidingWindowCounter can be leased"));
            return new Plain(traits, clock -> new LogAlgorithm(log, clock.tick.ticks("window", log.window())));
        }

        @Override
        public Kind visit(SlidingWindowCounter counter) {
            return new Plain(
                    PolicyTraits.of(counter, 0, counter.window().multipliedBy(2)),
                    clock -> new CounterAlgorithm(
                            counter,
                            grid(counter.window(), clock),
                            WindowResolution.of(counter, clock.tick),
                            clock.tick.exactBelow()));
        }

        @Override
        public Kind visit(ConcurrencyLimit limit) {
            PolicyTraits traits = PolicyTraits.of(limit, 0, limit.lease())
                    .notPrepaid(Optional.of("permits of a concurrency limit come back when the work ends, and one that"
                            + " is held does no work"));
            return new Packed(
                    traits,
                    clock -> new ConcurrencyAlgorithm(limit).boxed(),
                    clock -> Optional.of(new ConcurrencyAlgorithm(limit)));
        }

        @Override
        public Kind visit(CompositePolicy composite) {
            return new Plain(
                    traits(
                            composite,
                            composite.parts().stream().map(Algorithms::traits).toList()),
                    clock -> new CompositeAlgorithm(
                            composite,
                            composite.parts().stream()
                                    .map(part -> of(part, clock))
                                    .toList()));
        }

        /** What holds for all parts, and the longest times. */
        private static PolicyTraits traits(CompositePolicy composite, List<PolicyTraits> parts) {
            return new PolicyTraits(
                    composite,
                    0,
                    longest(parts, PolicyTraits::recovery),
                    longest(parts, PolicyTraits::phase),
                    parts.stream().allMatch(PolicyTraits::catchesUp),
                    parts.stream()
                            .flatMap(part -> part.whyNotPrepaid().stream())
                            .findFirst());
        }

        private static Duration longest(List<PolicyTraits> parts, Function<PolicyTraits, Duration> time) {
            return parts.stream().map(time).max(Duration::compareTo).orElseThrow();
        }

        private static WindowGrid.Epoch grid(Duration window, Clock clock) {
            return new WindowGrid.Epoch(clock.tick.ticks("window", window), clock.epochOffset);
        }
    }
}
