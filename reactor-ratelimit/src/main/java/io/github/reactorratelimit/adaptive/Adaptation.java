package io.github.reactorratelimit.adaptive;

import java.time.Duration;
import java.util.Objects;
import java.util.Optional;

/**
 * Sets the signs of overload that an adaptive limit reacts to, and how fast. The defaults suit calls of
 * milliseconds to seconds.
 *
 * <p>The limit moves at the end of each window, and immediately when the downstream rejects the first call of
 * a window. A window lasts at least {@code window}, and until {@code samples} calls that were sent in it have
 * come back.
 *
 * @param rule which signs of overload count
 * @param slowCalls a longer mean latency is a sign of overload; empty if no latency is
 * @param latencyTolerance with {@link Rule#GRADIENT}: the latency may be this many times its baseline
 * @param toleratedOverload the share of rejected or failed calls that counts as chance, from 0 to below 1
 * @param window the least time between two moves
 * @param samples calls that must have come back before a window is judged
 * @param baselineWindow how long the lowest latency stays the baseline
 */
public record Adaptation(
        Rule rule,
        Optional<Duration> slowCalls,
        double latencyTolerance,
        double toleratedOverload,
        Duration window,
        int samples,
        Duration baselineWindow) {

    /** Which signs of overload count. */
    public enum Rule {
        /** Rejections, failures, and a mean latency above {@link #slowCalls}. */
        AIMD,
        /** The same, and latency that rises above its baseline. */
        GRADIENT
    }

    public Adaptation {
        Objects.requireNonNull(rule, "rule");
        Objects.requireNonNull(slowCalls, "slowCalls");
        slowCalls.ifPresent(slow -> positive("slowCalls", slow));
        require(
                latencyTolerance > 1 && latencyTolerance <= 100,
                "latencyTolerance must be above 1 and at most 100, was " + latencyTolerance);
        require(
                toleratedOverload >= 0 && toleratedOverload < 1,
                "toleratedOverload must be at least 0 and below 1, was " + toleratedOverload);
        positive("window", window);
        require(samples >= 1, "samples must be positive, was " + samples);
        positive("baselineWindow", baselineWindow);
    }

    /** Learns from rejections and failures. */
    public static Adaptation aimd() {
        return of(Rule.AIMD);
    }

    /** Learns from rejections, failures, and latency against its baseline. */
    public static Adaptation gradient() {
        return of(Rule.GRADIENT);
    }

    private static Adaptation of(Rule rule) {
        return new Adaptation(rule, Optional.empty(), 2, 0.002, Duration.ofMillis(500), 10, Duration.ofMinutes(1));
    }

    /** The same, with a mean latency above this as a sign of overload. */
    public Adaptation withSlowCalls(Duration longerThan) {
        return new Adaptation(
                rule, Optional.of(longerThan), latencyTolerance, toleratedOverload, window, samples, baselineWindow);
    }

    /** The same; with {@link Rule#GRADIENT} latency may be this many times its baseline. Default: 2. */
    public Adaptation withLatencyTolerance(double timesBaseline) {
        return new Adaptation(rule, slowCalls, timesBaseline, toleratedOverload, window, samples, baselineWindow);
    }

    /** The same, with this share of rejected or failed calls counted as chance. Default: 0.002. */
    public Adaptation withToleratedOverload(double share) {
        return new Adaptation(rule, slowCalls, latencyTolerance, share, window, samples, baselineWindow);
    }

    /**
     * The same, moving at most once in {@code window}, after {@code samples} calls. Default: 500 ms and 10.
     */
    public Adaptation withWindow(Duration window, int samples) {
        return new Adaptation(rule, slowCalls, latencyTolerance, toleratedOverload, window, samples, baselineWindow);
    }

    /** The same, with the lowest latency of at least half this time as the baseline. Default: one minute. */
    public Adaptation withBaselineWindow(Duration baselineWindow) {
        return new Adaptation(rule, slowCalls, latencyTolerance, toleratedOverload, window, samples, baselineWindow);
    }

    /** Refuses bounds between which no limit can move. */
    static void requireBounds(long floor, long ceiling, long initial) {
        require(floor >= 1, "floor must be positive, was " + floor);
        require(ceiling >= floor, "ceiling must be at least the floor " + floor + ", was " + ceiling);
        require(
                initial >= floor && initial <= ceiling,
                "initial must be between " + floor + " and " + ceiling + ", was " + initial);
    }

    private static void positive(String name, Duration value) {
        Objects.requireNonNull(value, name);
        require(
                !value.isZero() && !value.isNegative() && value.compareTo(Duration.ofDays(366)) <= 0,
                name + " must be positive and at most 366 days, was " + value);
    }

    private static void require(boolean isValid, String message) {
        if (!isValid) {
            throw new IllegalArgumentException(message);
        }
    }
}
