package io.github.reactorratelimit.redis;

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
import io.github.reactorratelimit.algorithm.Algorithms;
import io.github.reactorratelimit.algorithm.Algorithms.Clock;
import io.github.reactorratelimit.algorithm.CalendarWindows;
import io.github.reactorratelimit.algorithm.Rate;
import io.github.reactorratelimit.algorithm.WindowResolution;
import java.util.Arrays;
import java.util.List;
import java.util.function.LongFunction;

/**
 * One part of a policy: its algorithm and its parameters, in the order that the head of the Lua file
 * gives. What Redis cannot hold exactly is refused by the algorithms themselves.
 */
final class PartArguments {

    private final RateLimitPolicy policy;
    private final ScriptAlgorithm algorithm;
    private final LongFunction<List<String>> parameters;

    private PartArguments(RateLimitPolicy policy, ScriptAlgorithm algorithm, LongFunction<List<String>> parameters) {
        this.policy = policy;
        this.algorithm = algorithm;
        this.parameters = parameters;
    }

    /** @throws IllegalArgumentException if there is no script for the policy, or Redis cannot hold it exactly */
    static PartArguments of(RateLimitPolicy policy, Clock clock) {
        return policy.accept(new Scripts(clock));
    }

    RateLimitPolicy policy() {
        return policy;
    }

    ScriptAlgorithm algorithm() {
        return algorithm;
    }

    /** @param aboutMicros about the server's time: only calendar windows depend on it */
    List<String> parametersAt(long aboutMicros) {
        return parameters.apply(aboutMicros);
    }

    private static PartArguments fixed(RateLimitPolicy policy, ScriptAlgorithm algorithm, long... values) {
        List<String> parameters = decimals(values);
        return new PartArguments(policy, algorithm, aboutMicros -> parameters);
    }

    /** Finds the script of a policy. */
    private record Scripts(Clock clock) implements PolicyVisitor<PartArguments> {

        @Override
        public PartArguments visit(TokenBucket bucket) {
            return bucket.style() == TokenBucket.Refill.STEPWISE
                    ? fixed(
                            bucket,
                            ScriptAlgorithm.STEPWISE_BUCKET,
                            bucket.capacity(),
                            bucket.refill(),
                            clock.tick().ticks("period", bucket.period()))
                    : metered(bucket, ScriptAlgorithm.GCRA);
        }

        @Override
        public PartArguments visit(Gcra gcra) {
            return metered(gcra, ScriptAlgorithm.GCRA);
        }

        @Override
        public PartArguments visit(LeakyBucket bucket) {
            return metered(bucket, ScriptAlgorithm.LEAKY_BUCKET);
        }

        private PartArguments metered(RateLimitPolicy policy, ScriptAlgorithm algorithm) {
            Rate rate = Algorithms.rate(policy, clock.tick()).orElseThrow();
            return fixed(
                    policy,
                    algorithm,
                    rate.partsPerTick(),
                    rate.partsPerPermit(),
                    policy.capacity(),
                    rate.missingParts(),
                    rate.missingParts() == 0 ? 0 : clock.start());
        }

        @Override
        public PartArguments visit(WarmUp warmUp) {
            throw new IllegalArgumentException(
                    "a WarmUp is not available on Redis yet: use it with a local store, or take a TokenBucket; was "
                            + warmUp);
        }

        @Override
        public PartArguments visit(FixedWindow window) {
            if (window.alignment() instanceof Alignment.Calendar calendar) {
                CalendarWindows windows = CalendarWindows.of(calendar, clock.tick(), clock.epochOffset());
                return new PartArguments(
                        window, ScriptAlgorithm.CALENDAR_WINDOW, new CalendarParameters(window.limit(), windows));
            }
            ScriptAlgorithm algorithm = window.alignment() instanceof Alignment.Epoch
                    ? ScriptAlgorithm.EPOCH_WINDOW
                    : ScriptAlgorithm.FIRST_REQUEST_WINDOW;
            return fixed(window, algorithm, window.limit(), clock.tick().ticks("window", window.window()));
        }

        @Override
        public PartArguments visit(SlidingWindowLog log) {
            return fixed(
                    log, ScriptAlgorithm.SLIDING_LOG, log.limit(), clock.tick().ticks("window", log.window()));
        }

        @Override
        public PartArguments visit(SlidingWindowCounter counter) {
            WindowResolution resolution = WindowResolution.of(counter, clock.tick());
            return fixed(
                    counter,
                    ScriptAlgorithm.SLIDING_COUNTER,
                    counter.limit(),
                    resolution.windowTicks(),
                    resolution.grainTicks(),
                    resolution.windowGrains());
        }

        @Override
        public PartArguments visit(ConcurrencyLimit limit) {
            throw new IllegalArgumentException("policy must be one that the scripts know, was " + limit);
        }

        @Override
        public PartArguments visit(CompositePolicy composite) {
            throw new IllegalArgumentException("policy must not be a composite inside another, was " + composite);
        }
    }

    private static List<String> decimals(long... values) {
        return Arrays.stream(values)
                .peek(value -> Exact.check("parameter", value))
                .mapToObj(Long::toString)
                .toList();
    }

    /** Keeps the parameters until the window of their time is over. */
    private static final class CalendarParameters implements LongFunction<List<String>> {

        private record Known(long start, long end, List<String> parameters) {}

        private final long limit;
        private final CalendarWindows windows;
        private volatile Known known = new Known(0, 0, List.of());

        CalendarParameters(long limit, CalendarWindows windows) {
            this.limit = limit;
            this.windows = windows;
        }

        @Override
        public List<String> apply(long aboutMicros) {
            Known current = known;
            if (aboutMicros < current.start || aboutMicros >= current.end) {
                current = around(aboutMicros);
                known = current;
            }
            return current.parameters;
        }

        private Known around(long aboutMicros) {
            long[] times = windows.around(aboutMicros);
            long[] values = new long[times.length + 2];
            values[0] = limit;
            values[1] = times.length - 1L;
            System.arraycopy(times, 0, values, 2, times.length);
            return new Known(times[1], times[2], decimals(values));
        }
    }
}
