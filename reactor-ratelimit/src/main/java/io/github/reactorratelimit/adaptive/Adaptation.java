package io.github.reactorratelimit.adaptive;

import java.time.Duration;
import java.util.Objects;
import java.util.Optional;

/**
 * What an adaptive limit learns from, and how fast. The defaults suit calls of milliseconds to seconds.
 *
 * <p>Time is cut into windows. One lasts at least {@code window}, and until {@code samples} calls that were sent in it came back; the limit moves at its end,
 * and at once when the downstream refuses a call for the first time in a window.
 *
 * @param rule which signs of overload count
 * @param slowCalls calls that take longer on average are a sign of overload; empty if no duration is
 * @param latencyTolerance how many times its baseline the latency may be, with {@link Rule#GRADIENT}
 * @param toleratedOverload the share of refused or failed calls that is taken for chance, from 0 to below 1
 * @param window least time between two moves
 * @param samples calls that must have come back before a window says something
 * @param baselineWindow how long a latency counts that was the lowest
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
        /** Refusals, failures, and calls slower than {@link #slowCalls} says. */
        AIMD,
        /** Those, and latency that rises above its baseline. */
        GRADIENT
    }

    private static final Adaptation DEFAULTS =
            new Adaptation(Rule.AIMD, Optional.empty(), 2, 0.002, Duration.ofMillis(500), 10, Duration.ofMinutes(1));

    public Adaptation {
        Objects.requireNonNull(rule, "rule");
        Objects.requireNonNull(slowCalls, "slowCalls");
        slowCalls.ifPresent(slow -> positive("slowCalls", slow));
        if (!(latencyTolerance > 1 && latencyTolerance <= 100)) {
            throw new IllegalArgumentException(
                    "latencyTolerance must be above 1 and at most 100, was " + latencyTolerance);
        }
        if (!(toleratedOverload >= 0 && toleratedOverload < 1)) {
            throw new IllegalArgumentException(
                    "toleratedOverload must be at least 0 and below 1, was " + toleratedOverload);
        }
        positive("window", window);
        if (samples < 1) {
            throw new IllegalArgumentException("samples must be positive, was " + samples);
        }
        positive("baselineWindow", baselineWindow);
    }

    /** Learns from refusals and failures. */
    public static Adaptation aimd() {
        return DEFAULTS;
    }

    /** Learns from refusals, failures, and latency against its baseline. */
    public static Adaptation gradient() {
        return new Adaptation(
                Rule.GRADIENT,
                DEFAULTS.slowCalls,
                DEFAULTS.latencyTolerance,
                DEFAULTS.toleratedOverload,
                DEFAULTS.window,
                DEFAULTS.samples,
                DEFAULTS.baselineWindow);
    }

    /** Calls that take longer on average are a sign of overload. */
    public Adaptation withSlowCalls(Duration longerThan) {
        return new Adaptation(
                rule, Optional.of(longerThan), latencyTolerance, toleratedOverload, window, samples, baselineWindow);
    }

    /** With {@link Rule#GRADIENT}: latency may be so many times its baseline; 2 unless given. */
    public Adaptation withLatencyTolerance(double timesBaseline) {
        return new Adaptation(rule, slowCalls, timesBaseline, toleratedOverload, window, samples, baselineWindow);
    }

    /** So large a share of refused or failed calls is taken for chance; 0.002 unless given. */
    public Adaptation withToleratedOverload(double share) {
        return new Adaptation(rule, slowCalls, latencyTolerance, share, window, samples, baselineWindow);
    }

    /** Moves at most once in {@code window}, after {@code samples} calls; 500 ms and 10 unless given. */
    public Adaptation withWindow(Duration window, int samples) {
        return new Adaptation(rule, slowCalls, latencyTolerance, toleratedOverload, window, samples, baselineWindow);
    }

    /** The baseline is the lowest latency of at least half this time; a minute unless given. */
    public Adaptation withBaselineWindow(Duration baselineWindow) {
        return new Adaptation(rule, slowCalls, latencyTolerance, toleratedOverload, window, samples, baselineWindow);
    }

    private static void positive(String name, Duration value) {
        Objects.requireNonNull(value, name);
        if (value.isZero() || value.isNegative() || value.compareTo(Duration.ofDays(366)) > 0) {
            throw new IllegalArgumentException(name + " must be positive and at most 366 days, was " + value);
        }
    }
}
