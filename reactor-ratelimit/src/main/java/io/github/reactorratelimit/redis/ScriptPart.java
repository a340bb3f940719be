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
import io.github.reactorratelimit.algorithm.CalendarWindows;
import io.github.reactorratelimit.algorithm.Rate;
import io.github.reactorratelimit.algorithm.Tick;
import io.github.reactorratelimit.algorithm.WindowResolution;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * One part of a policy as the script reads it: the name of an algorithm, which is that of its Lua file, and its
 * parameters, in the order that the head of the file gives. The algorithms refuse what Redis cannot hold exactly.
 *
 * @param parameters the parameters at a time, with a blank before each
 * @param changes whether they depend on the time
 * @param bucketRate of a bucket that is full when a key is new
 */
record ScriptPart(
        RateLimitPolicy policy,
        String algorithm,
        Function<ServerClock, String> parameters,
        boolean changes,
        @Nullable BucketRate bucketRate) {

    /** Where windows lie, as fixed_window.lua reads it. */
    private static final long EPOCH = 0;

    private static final long FIRST_REQUEST = 1;
    private static final long CALENDAR = 2;

    /** @throws IllegalArgumentException if Redis cannot hold the policy exactly */
    static ScriptPart of(RateLimitPolicy policy) {
        return policy.accept(new Parts());
    }

    /** No algorithm: the registry of policy versions. */
    static ScriptPart versions(RateLimitPolicy policy) {
        return fixed(policy, "versions");
    }

    boolean isAboutVersions() {
        return algorithm.equals("versions");
    }

    boolean hasLeases() {
        return algorithm.equals("concurrency");
    }

    boolean isMetered() {
        return algorithm.equals("level");
    }

    boolean isLog() {
        return algorithm.equals("sliding_log");
    }

    /** Whether the text stays as it is now. */
    boolean isFixed(ServerClock clock) {
        return !changes || (isMetered() && clock.knowsStart());
    }

    String text(ServerClock clock) {
        return algorithm + parameters.apply(clock);
    }

    private static ScriptPart fixed(RateLimitPolicy policy, String algorithm, long... parameters) {
        String text = decimals(parameters);
        return new ScriptPart(policy, algorithm, clock -> text, false, null);
    }

    private static String decimals(long... values) {
        return LongStream.of(values)
                .peek(value -> Tick.MICROSECOND.check("parameter", value))
                .mapToObj(value -> " " + value)
                .collect(Collectors.joining());
    }

    private static final class Parts implements PolicyVisitor<ScriptPart> {

        @Override
        public ScriptPart visit(TokenBucket bucket) {
            return bucket.style() == TokenBucket.Refill.STEPWISE
                    ? fixed(
                            bucket,
                            "stepwise_bucket",
                            bucket.capacity(),
                            bucket.refill(),
                            Tick.MICROSECOND.ticks("period", bucket.period()))
                    : metered(bucket, false);
        }

        @Override
        public ScriptPart visit(Gcra gcra) {
            return metered(gcra, false);
        }

        @Override
        public ScriptPart visit(LeakyBucket bucket) {
            return metered(bucket, true);
        }

        /**
         * Initial tokens refill since the limiter was opened, by the server's clock; since now if
         * that is not known yet.
         */
        private static ScriptPart metered(RateLimitPolicy policy, boolean queues) {
            Rate rate = Algorithms.rate(policy, Tick.MICROSECOND).orElseThrow();
            long missing = rate.missingParts();
            String text =
                    decimals(queues ? 1 : 0, rate.partsPerTick(), rate.partsPerPermit(), policy.capacity(), missing);
            if (missing == 0) {
                BucketRate bucket = queues ? null : BucketRate.of(policy, rate);
                return new ScriptPart(policy, "level", clock -> text + " 0", false, bucket);
            }
            return new ScriptPart(
                    policy,
                    "level",
                    clock -> text + " " + (clock.knowsStart() ? Long.toString(clock.startMicros()) : "now"),
                    true,
                    null);
        }

        @Override
        public ScriptPart visit(WarmUp warmUp) {
            Rate rate = Algorithms.warmUpRate(warmUp, Tick.MICROSECOND);
            return fixed(
                    warmUp,
                    "warm_up",
                    rate.partsPerTick(),
                    rate.partsPerPermit(),
                    warmUp.permits(),
                    Tick.MICROSECOND.ticks("warmUp", warmUp.warmUp()));
        }

        @Override
        public ScriptPart visit(FixedWindow window) {
            if (window.alignment() instanceof Alignment.Calendar calendar) {
                CalendarWindows windows = CalendarWindows.of(calendar, Tick.MICROSECOND, 0);
                return new ScriptPart(window, "fixed_window", new CalendarText(window.limit(), windows), true, null);
            }
            boolean isAligned = window.alignment() instanceof Alignment.Epoch;
            return fixed(
                    window,
                    "fixed_window",
                    window.limit(),
                    isAligned ? EPOCH : FIRST_REQUEST,
                    Tick.MICROSECOND.ticks("window", window.window()));
        }

        @Override
        public ScriptPart visit(SlidingWindowLog log) {
            return fixed(log, "sliding_log", log.limit(), Tick.MICROSECOND.ticks("window", log.window()));
        }

        @Override
        public ScriptPart visit(SlidingWindowCounter counter) {
            WindowResolution resolution = WindowResolution.of(counter, Tick.MICROSECOND);
            return fixed(
                    counter,
                    "sliding_counter",
                    counter.limit(),
                    resolution.windowTicks(),
                    resolution.grainTicks(),
                    resolution.windowGrains());
        }

        @Override
        public ScriptPart visit(ConcurrencyLimit limit) {
            return fixed(limit, "concurrency", limit.max());
        }

        @Override
        public ScriptPart visit(CompositePolicy composite) {
            throw new IllegalArgumentException("policy must not be a composite inside another, was " + composite);
        }
    }

    /** The windows around about now; keeps them until the window of their time is over. */
    private static final class CalendarText implements Function<ServerClock, String> {

        private record Known(long start, long end, String text) {}

        private final long limit;
        private final CalendarWindows windows;
        private volatile Known known = new Known(0, 0, "");

        CalendarText(long limit, CalendarWindows windows) {
            this.limit = limit;
            this.windows = windows;
        }

        @Override
        public String apply(ServerClock clock) {
            long aboutMicros = clock.aboutMicros();
            Known current = known;
            if (aboutMicros < current.start || aboutMicros >= current.end) {
                current = around(aboutMicros);
                known = current;
            }
            return current.text;
        }

        private Known around(long aboutMicros) {
            long[] times = windows.around(aboutMicros);
            long[] values = new long[times.length + 2];
            values[0] = limit;
            values[1] = CALENDAR;
            System.arraycopy(times, 0, values, 2, times.length);
            return new Known(times[1], times[2], decimals(values));
        }
    }
}
