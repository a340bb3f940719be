package io.github.reactorratelimit.adaptive;

import io.github.reactorratelimit.ConcurrencyLimit;
import java.util.Objects;

/**
 * A number of calls in flight that moves between a floor and a ceiling. Follows a downstream that slows down by itself: slower answers free fewer
 * permits.
 *
 * @param floor least calls in flight
 * @param ceiling most calls in flight
 * @param initial calls in flight before anything was learned; the floor unless given
 * @param adaptation what is learned from, and how fast
 */
public record AdaptiveConcurrency(long floor, long ceiling, long initial, Adaptation adaptation)
        implements AdaptivePolicy {

    public AdaptiveConcurrency {
        Bounds.check(floor, ceiling, initial);
        Objects.requireNonNull(adaptation, "adaptation");
        ConcurrencyLimit.of(ceiling);
    }

    /** Learns from refusals, failures and, if told what is slow, from slow calls. */
    public static AdaptiveConcurrency aimd(long floor, long ceiling) {
        return new AdaptiveConcurrency(floor, ceiling, floor, Adaptation.aimd());
    }

    /** Learns from latency against its baseline too. */
    public static AdaptiveConcurrency gradient(long floor, long ceiling) {
        return new AdaptiveConcurrency(floor, ceiling, floor, Adaptation.gradient());
    }

    /** The same, starting with {@code initial} calls in flight. */
    public AdaptiveConcurrency withInitial(long initial) {
        return new AdaptiveConcurrency(floor, ceiling, initial, adaptation);
    }

    /** The same bounds, learning otherwise. */
    public AdaptiveConcurrency withAdaptation(Adaptation adaptation) {
        return new AdaptiveConcurrency(floor, ceiling, initial, adaptation);
    }

    @Override
    public ConcurrencyLimit at(long limit) {
        return ConcurrencyLimit.of(limit);
    }
}
