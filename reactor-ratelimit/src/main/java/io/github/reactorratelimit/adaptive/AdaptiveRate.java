package io.github.reactorratelimit.adaptive;

import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.RateLimitPolicy;
import java.time.Duration;
import java.util.Objects;

/**
 * Limits the rate of calls, with whole permits per period that move between a floor and a ceiling. A longer
 * period gives finer steps: 60 to 6 000 per minute moves by a sixtieth of the steps of 1 to 100 per second.
 *
 * <p>Calls leave evenly spaced, as from a {@link LeakyBucket}, unless {@link #withBurst} allows several at
 * once.
 *
 * @param floor the fewest permits per period
 * @param ceiling the most permits per period
 * @param period the time in which they are counted
 * @param initial permits per period at the start; default: the floor
 * @param burst permits that may be used at one instant after idle time; 1 spaces them evenly
 * @param adaptation the signs of overload, and how fast it reacts
 */
public record AdaptiveRate(long floor, long ceiling, Duration period, long initial, long burst, Adaptation adaptation)
        implements AdaptivePolicy {

    public AdaptiveRate {
        Adaptation.requireBounds(floor, ceiling, initial);
        Objects.requireNonNull(adaptation, "adaptation");
        Objects.requireNonNull(period, "period");
        policy(floor, period, burst);
        policy(ceiling, period, burst);
    }

    /** Learns from rejections, failures and, with {@link Adaptation#withSlowCalls}, slow calls. */
    public static AdaptiveRate aimd(long floor, long ceiling, Duration period) {
        return new AdaptiveRate(floor, ceiling, period, floor, 1, Adaptation.aimd());
    }

    /** Learns from latency against its baseline as well. */
    public static AdaptiveRate gradient(long floor, long ceiling, Duration period) {
        return new AdaptiveRate(floor, ceiling, period, floor, 1, Adaptation.gradient());
    }

    /** The same, starting at {@code initial} permits per period. */
    public AdaptiveRate withInitial(long initial) {
        return new AdaptiveRate(floor, ceiling, period, initial, burst, adaptation);
    }

    /** The same, with up to {@code burst} permits at one instant after idle time. */
    public AdaptiveRate withBurst(long burst) {
        return new AdaptiveRate(floor, ceiling, period, initial, burst, adaptation);
    }

    /** The same bounds with another adaptation. */
    public AdaptiveRate withAdaptation(Adaptation adaptation) {
        return new AdaptiveRate(floor, ceiling, period, initial, burst, adaptation);
    }

    @Override
    public RateLimitPolicy at(long limit) {
        return policy(limit, period, burst);
    }

    private static RateLimitPolicy policy(long permits, Duration period, long burst) {
        return burst == 1 ? LeakyBucket.of(permits, period) : new Gcra(permits, period, burst);
    }
}
