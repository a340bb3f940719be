package io.github.reactorratelimit.adaptive;

/** Compares a limit with the calls of a window, in the unit of the limit: a rate, or calls in flight. */
sealed interface LimitUnit {

    /** A limit counts as used up from this share on. */
    double USED = 0.8;

    static LimitUnit of(AdaptivePolicy policy) {
        return policy instanceof AdaptiveRate rate ? new CallRate(rate.period().toNanos()) : new CallsInFlight();
    }

    /** Whether the calls of the window used the limit up, or nearly. */
    boolean isUsedUp(double limit, SampleWindow window, long nowNanos);

    /** The load that the downstream bore while it rejected more. */
    double borne(double limit, SampleWindow window, long nowNanos);

    /** The load that the downstream bore while calls took {@code latency} instead of {@code bearable}. */
    double borneSlowly(double limit, SampleWindow window, long latencyNanos, long bearableNanos, long nowNanos);

    /**
     * The share by which more calls were sent than came back: a queue grows. Calls that are in flight because
     * the limit grew do not count, nor does one by chance.
     */
    default double ahead(SampleWindow window, long inFlight, double grown) {
        return 0;
    }

    /** Whether so many calls would be in flight without a queue. */
    default boolean isWithoutQueue(double limit, long inFlight, long baselineNanos) {
        return false;
    }

    /** Whether the limit must fall below the throughput for a queue to drain. */
    default boolean drains() {
        return false;
    }

    /** Permits per period. */
    record CallRate(long periodNanos) implements LimitUnit {

        @Override
        public boolean isUsedUp(double limit, SampleWindow window, long nowNanos) {
            // One less, because a window may begin right after a call left.
            return window.started() + 1 >= USED * limit / periodNanos * window.ageNanos(nowNanos);
        }

        @Override
        public double borne(double limit, SampleWindow window, long nowNanos) {
            return window.deliveredPerNano(nowNanos) * periodNanos;
        }

        @Override
        public double borneSlowly(
                double limit, SampleWindow window, long latencyNanos, long bearableNanos, long nowNanos) {
            return window.deliveredPerNano(nowNanos) * periodNanos;
        }

        @Override
        public double ahead(SampleWindow window, long inFlight, double grown) {
            double more = window.piledUp(inFlight) - grown / periodNanos * window.latencyNanos();
            return (more - 1) / Math.max(1, window.delivered());
        }

        @Override
        public boolean isWithoutQueue(double limit, long inFlight, long baselineNanos) {
            return inFlight <= 1 + 1.25 * limit / periodNanos * baselineNanos;
        }

        @Override
        public boolean drains() {
            return true;
        }
    }

    /** Calls in flight. */
    record CallsInFlight() implements LimitUnit {

        @Override
        public boolean isUsedUp(double limit, SampleWindow window, long nowNanos) {
            return window.mostInFlight() >= USED * Math.floor(limit);
        }

        @Override
        public double borne(double limit, SampleWindow window, long nowNanos) {
            return limit * window.servedShare();
        }

        @Override
        public double borneSlowly(
                double limit, SampleWindow window, long latencyNanos, long bearableNanos, long nowNanos) {
            return limit * bearableNanos / Math.max(1, latencyNanos);
        }
    }
}
