package io.github.reactorratelimit.adaptive;

import java.util.OptionalLong;

/**
 * The calls since the limit was last judged. Calls that were sent before the last decrease are no evidence
 * about the lower limit.
 */
final class SampleWindow {

    private final long sinceNanos;
    private final OptionalLong decreasedNanos;
    private final long inFlightAtStart;
    private long mostInFlight;
    private long started;
    private long fresh;
    private long evidence;
    private long served;
    private long overloads;
    private long tolerated;
    private long lastOverloadNanos;
    private double latencyNanos;
    private long delivered;
    private long firstDeliveredNanos;
    private long lastDeliveredNanos;

    private SampleWindow(long nowNanos, long inFlight, OptionalLong decreasedNanos) {
        this.sinceNanos = nowNanos;
        this.inFlightAtStart = inFlight;
        this.mostInFlight = inFlight;
        this.decreasedNanos = decreasedNanos;
    }

    /** The first window. */
    SampleWindow(long nowNanos) {
        this(nowNanos, 0, OptionalLong.empty());
    }

    /** The next window at the same limit or a higher one. */
    SampleWindow next(long nowNanos, long inFlight) {
        return new SampleWindow(nowNanos, inFlight, decreasedNanos);
    }

    /** The first window at a lower limit. */
    static SampleWindow afterDecrease(long nowNanos, long inFlight) {
        return new SampleWindow(nowNanos, inFlight, OptionalLong.of(nowNanos));
    }

    void started(long inFlight) {
        started++;
        mostInFlight = Math.max(mostInFlight, inFlight);
    }

    void served(long startedNanos, long nowNanos) {
        if (delivered++ == 0) {
            firstDeliveredNanos = nowNanos;
        }
        lastDeliveredNanos = nowNanos;
        if (isEvidence(startedNanos)) {
            cameBack(startedNanos);
            served++;
            latencyNanos += nowNanos - startedNanos;
        }
    }

    void overloaded(long startedNanos, long nowNanos, boolean byChance) {
        cameBack(startedNanos);
        if (byChance) {
            tolerated++;
        } else {
            overloads++;
            lastOverloadNanos = nowNanos;
        }
    }

    private void cameBack(long startedNanos) {
        evidence++;
        if (startedNanos - sinceNanos >= 0) {
            fresh++;
        }
    }

    boolean isEvidence(long startedNanos) {
        return decreasedNanos.isEmpty() || startedNanos - decreasedNanos.getAsLong() >= 0;
    }

    long ageNanos(long nowNanos) {
        return nowNanos - sinceNanos;
    }

    /** Whether the last decrease was at least this long ago, or there was none. */
    boolean wasCalmFor(long nanos, long nowNanos) {
        return decreasedNanos.isEmpty() || nowNanos - decreasedNanos.getAsLong() >= nanos;
    }

    long started() {
        return started;
    }

    /** Calls sent in this window that came back. */
    long fresh() {
        return fresh;
    }

    /** Calls sent since the last decrease that came back in this window. */
    long evidence() {
        return evidence;
    }

    long overloads() {
        return overloads;
    }

    long tolerated() {
        return tolerated;
    }

    long delivered() {
        return delivered;
    }

    long mostInFlight() {
        return mostInFlight;
    }

    /** Whether rejections go on: those right after a decrease may be the rest of the overload before. */
    boolean keepsOverloading(long nowNanos) {
        return overloads > 0 && nowNanos - lastOverloadNanos <= ageNanos(nowNanos) / 2;
    }

    /** How many more calls are in flight than at the start of the window. */
    long piledUp(long inFlight) {
        return inFlight - inFlightAtStart;
    }

    double servedShare() {
        return evidence == 0 ? 1 : (double) served / evidence;
    }

    /** The mean of the calls that are evidence; 0 if none was served. */
    long latencyNanos() {
        return served == 0 ? 0 : (long) (latencyNanos / served);
    }

    /** The throughput in calls per nanosecond: the lower of two ways to count it. */
    double deliveredPerNano(long nowNanos) {
        long between = lastDeliveredNanos - firstDeliveredNanos;
        double overall = (double) delivered / Math.max(1, ageNanos(nowNanos));
        return delivered >= 2 && between > 0 ? Math.min(overall, (double) (delivered - 1) / between) : overall;
    }
}
