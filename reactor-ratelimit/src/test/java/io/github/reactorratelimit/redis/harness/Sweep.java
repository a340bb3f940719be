package io.github.reactorratelimit.redis.harness;

import io.github.reactorratelimit.CompositePolicy;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.SlidingWindowCounter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import java.time.Duration;
import java.util.Arrays;
import java.util.stream.Collectors;

/**
 * Sweeps over sorted stamps of single permits, in microseconds, and finds the window that comes closest to the worst case
 * that the policy states. Knows only what the policy's documentation says, and nothing of its algorithm.
 */
public final class Sweep {

    private Sweep() {}

    /** The largest share of the stated worst case that was used: above 1 the policy is broken. */
    public static double used(RateLimitPolicy policy, long[] stamps) {
        if (policy instanceof CompositePolicy composite) {
            return composite.parts().stream()
                    .mapToDouble(part -> used(part, stamps))
                    .max()
                    .orElseThrow();
        }
        if (policy instanceof TokenBucket bucket) {
            return bucket.style() == TokenBucket.Refill.STEPWISE
                    ? stepwise(bucket, stamps)
                    : bucket(bucket.capacity(), bucket.refill(), bucket.period(), stamps);
        }
        if (policy instanceof Gcra gcra) {
            return bucket(gcra.burst(), gcra.permits(), gcra.period(), stamps);
        }
        if (policy instanceof LeakyBucket leaky) {
            return leaky(leaky, stamps);
        }
        if (policy instanceof SlidingWindowLog log) {
            return inAnyWindow(stamps, micros(log.window())) / (double) log.limit();
        }
        if (policy instanceof SlidingWindowCounter counter) {
            return inAnyWindow(stamps, micros(counter.window())) / (2.0 * counter.limit() - 1);
        }
        if (policy instanceof FixedWindow window) {
            return window.alignment() instanceof FixedWindow.Alignment.Epoch
                    ? inEpochWindows(stamps, micros(window.window())) / (double) window.limit()
                    : inAnyWindow(stamps, micros(window.window())) / (2.0 * window.limit());
        }
        throw new IllegalArgumentException("policy has no sweep: " + policy);
    }

    /**
     * {@code capacity + rate * W} for the windows from every stamp to every later one, in whole numbers: with the parts
     * {@code permits * time} of a period, {@code count * period - permits * W <= capacity * period}.
     */
    private static double bucket(long capacity, long permits, Duration period, long[] stamps) {
        long periodMicros = micros(period);
        long start = stamps.length == 0 ? 0 : stamps[0];
        long least = Long.MAX_VALUE;
        long most = 0;
        for (int i = 0; i < stamps.length; i++) {
            long flowed = permits * (stamps[i] - start);
            least = Math.min(least, i * periodMicros - flowed);
            most = Math.max(most, (i + 1) * periodMicros - flowed - least);
        }
        return most / (double) (capacity * periodMicros);
    }

    /** {@code capacity + refill * (floor(W / period) + 1)}; windows whose length decides are looked at one by one. */
    private static double stepwise(TokenBucket bucket, long[] stamps) {
        double most = 0;
        long periodMicros = micros(bucket.period());
        int lengths = (int) (stamps.length == 0 ? 0 : (stamps[stamps.length - 1] - stamps[0]) / periodMicros + 1);
        for (int periods = 1; periods <= lengths; periods += Math.max(1, periods / 8)) {
            long justBelow = periods * periodMicros;
            long worst = bucket.capacity() + bucket.refill() * periods;
            most = Math.max(most, inAnyWindow(stamps, justBelow) / (double) worst);
        }
        return most;
    }

    /**
     * Slots an interval apart, each rounded down to its microsecond: {@code n} intervals lie between two stamps if {@code
     * (later - earlier + 1) * permits > n * period}.
     */
    private static double leaky(LeakyBucket leaky, long[] stamps) {
        long periodMicros = micros(leaky.period());
        long start = stamps.length == 0 ? 0 : stamps[0];
        long least = Long.MAX_VALUE;
        double closest = 0;
        for (int i = 0; i < stamps.length; i++) {
            long lag = i * periodMicros - leaky.permits() * (stamps[i] - start);
            if (i > 0) {
                long early = lag - least;
                closest =
                        Math.max(closest, early < leaky.permits() ? Math.min(1, 1 + early / (double) periodMicros) : 2);
            }
            least = Math.min(least, lag);
        }
        return closest;
    }

    /** The most stamps in any half-open window of that length. */
    static long inAnyWindow(long[] stamps, long micros) {
        long most = 0;
        int first = 0;
        for (int i = 0; i < stamps.length; i++) {
            while (stamps[i] - stamps[first] >= micros) {
                first++;
            }
            most = Math.max(most, i - first + 1L);
        }
        return most;
    }

    private static long inEpochWindows(long[] stamps, long micros) {
        return Arrays.stream(stamps)
                .boxed()
                .collect(Collectors.groupingBy(stamp -> Math.floorDiv(stamp, micros), Collectors.counting()))
                .values()
                .stream()
                .mapToLong(Long::longValue)
                .max()
                .orElse(0);
    }

    private static long micros(Duration duration) {
        return duration.toNanos() / 1_000;
    }
}
