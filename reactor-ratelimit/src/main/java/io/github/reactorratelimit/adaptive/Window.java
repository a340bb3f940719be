package io.github.reactorratelimit.adaptive;

/** What was seen since the limit was last judged. Calls that were sent before the last decrease say nothing about the limit that it left. */
final class Window {

    private long sinceNanos;
    private long decreasedNanos;
    private boolean decreased;
    private long inFlightAtStart;
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

    Window(long nowNanos) {
        sinceNanos = nowNanos;
    }

    void begin(long nowNanos, long inFlight) {
        sinceNanos = nowNanos;
        inFlightAtStart = inFlight;
        mostInFlight = inFlight;
        started = 0;
        fresh = 0;
        evidence = 0;
        served = 0;
        overloads = 0;
        tolerated = 0;
        latencyNanos = 0;
        delivered = 0;
    }

    void beginLower(long nowNanos, long inFlight) {
        begin(nowNanos, inFlight);
        decreased = true;
        decreasedNanos = nowNanos;
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
        return !decreased || startedNanos - decreasedNanos >= 0;
    }

    long ageNanos(long nowNanos) {
        return nowNanos - sinceNanos;
    }

    /** Since the last decrease; empty history counts as long. */
    boolean wasCalmFor(long nanos, long nowNanos) {
        return !decreased || nowNanos - decreasedNanos >= nanos;
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

    /** Whether it has not ceased by itself: what was refused right after a decrease may have been the rest of what was too much before. */
    boolean keepsOverloading(long nowNanos) {
        return overloads > 0 && nowNanos - lastOverloadNanos <= ageNanos(nowNanos) / 2;
    }

    /** How many more are in flight than when it began. */
    long piledUp(long inFlight) {
        return inFlight - inFlightAtStart;
    }

    double servedShare() {
        return evidence == 0 ? 1 : (double) served / evidence;
    }

    /** Mean of the calls that count; 0 if none was served. */
    long latencyNanos() {
        return served == 0 ? 0 : (long) (latencyNanos / served);
    }

    /** Calls served per nanosecond: what the downstream did, whatever was asked of it. Of two ways to count the lower. */
    double deliveredPerNano(long nowNanos) {
        long between = lastDeliveredNanos - firstDeliveredNanos;
        double overall = (double) delivered / Math.max(1, ageNanos(nowNanos));
        return delivered >= 2 && between > 0 ? Math.min(overall, (double) (delivered - 1) / between) : overall;
    }
}
