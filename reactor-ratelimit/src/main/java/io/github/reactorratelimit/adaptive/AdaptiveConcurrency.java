package io.github.reactorratelimit.adaptive;

import io.github.reactorratelimit.ConcurrencyLimit;
import java.util.Objects;

/**
 * Limits the calls in flight, with a limit that moves between a floor and a ceiling. It follows a downstream
 * that slows down by itself: slower answers free fewer permits.
 *
 * @param floor the lowest limit
 * @param ceiling the highest limit
 * @param initial the limit at the start; default: the floor
 * @param adaptation the signs of overload, and how fast it reacts
 */
public record AdaptiveConcurrency(long floor, long ceiling, long initial, Adaptation adaptation)
        implements AdaptivePolicy {

    public AdaptiveConcurrency {
        Adaptation.requireBounds(floor, ceiling, initial);
        Objects.requireNonNull(adaptation, "adaptation");
        ConcurrencyLimit.of(ceiling);
    }

    /** Learns from rejections, failures and, with {@link Adaptation#withSlowCalls}, slow calls. */
    public static AdaptiveConcurrency aimd(long floor, long ceiling) {
        return new AdaptiveConcurrency(floor, ceiling, floor, Adaptation.aimd());
    }

    /** Learns from latency against its baseline as well. */
    public static AdaptiveConcurrency gradient(long floor, long ceiling) {
        return new AdaptiveConcurrency(floor, ceiling, floor, Adaptation.gradient());
    }

    /** The same, starting with this limit. */
    public AdaptiveConcurrency withInitial(long initial) {
        return new AdaptiveConcurrency(floor, ceiling, initial, adaptation);
    }

    /** The same bounds with another adaptation. */
    public AdaptiveConcurrency withAdaptation(Adaptation adaptation) {
        return new AdaptiveConcurrency(floor, ceiling, initial, adaptation);
    }

    @Override
    public ConcurrencyLimit at(long limit) {
        return ConcurrencyLimit.of(limit);
    }
}
