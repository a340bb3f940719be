package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.CompositePolicy;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.FixedWindow.Alignment;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.SlidingWindowCounter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.algorithm.Algorithms.Clock;
import io.github.reactorratelimit.algorithm.CalendarWindows;
import io.github.reactorratelimit.algorithm.Grains;
import io.github.reactorratelimit.algorithm.Rate;
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

    static PartArguments of(RateLimitPolicy policy, Clock clock) {
        if (policy instanceof Gcra) {
            return metered(policy, ScriptAlgorithm.GCRA, clock);
        }
        if (policy instanceof LeakyBucket) {
            return metered(policy, ScriptAlgorithm.LEAKY_BUCKET, clock);
        }
        if (policy instanceof TokenBucket bucket) {
            return bucket.style() == TokenBucket.Refill.STEPWISE
                    ? stepwise(bucket, clock)
                    : metered(bucket, ScriptAlgorithm.GCRA, clock);
        }
        if (policy instanceof FixedWindow window) {
            return window(window, clock);
        }
        if (policy instanceof SlidingWindowCounter counter) {
            Grains grains = Grains.of(counter, clock.tick());
            return fixed(
                    policy,
                    ScriptAlgorithm.SLIDING_COUNTER,
                    counter.limit(),
                    grains.windowTicks(),
                    grains.grainTicks(),
                    grains.windowGrains());
        }
        if (policy instanceof SlidingWindowLog log) {
            return fixed(
                    policy,
                    ScriptAlgorithm.SLIDING_LOG,
                    log.limit(),
                    clock.tick().ticks("window", log.window()));
        }
        throw refused(policy);
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

    private static PartArguments metered(RateLimitPolicy policy, ScriptAlgorithm algorithm, Clock clock) {
        Rate rate = Rate.of(policy, clock.tick());
        return fixed(
                policy,
                algorithm,
                rate.partsPerTick(),
                rate.partsPerPermit(),
                policy.capacity(),
                rate.missingParts(),
                rate.missingParts() == 0 ? 0 : clock.start());
    }

    private static PartArguments stepwise(TokenBucket bucket, Clock clock) {
        long periodTicks = clock.tick().ticks("period", bucket.period());
        return fixed(bucket, ScriptAlgorithm.STEPWISE_BUCKET, bucket.capacity(), bucket.refill(), periodTicks);
    }

    private static PartArguments window(FixedWindow window, Clock clock) {
        if (window.alignment() instanceof Alignment.Calendar) {
            CalendarParameters calendar = new CalendarParameters(window.limit(), CalendarWindows.of(window, clock));
            return new PartArguments(window, ScriptAlgorithm.CALENDAR_WINDOW, calendar);
        }
        ScriptAlgorithm algorithm = window.alignment() instanceof Alignment.Epoch
                ? ScriptAlgorithm.EPOCH_WINDOW
                : ScriptAlgorithm.FIRST_REQUEST_WINDOW;
        return fixed(window, algorithm, window.limit(), clock.tick().ticks("window", window.window()));
    }

    private static IllegalArgumentException refused(RateLimitPolicy policy) {
        if (policy instanceof CompositePolicy) {
            return new IllegalArgumentException("policy must not be a composite inside another, was " + policy);
        }
        return new IllegalArgumentException("policy must be one that the scripts know, was " + policy);
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
