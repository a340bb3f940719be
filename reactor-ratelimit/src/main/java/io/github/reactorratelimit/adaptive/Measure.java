package io.github.reactorratelimit.adaptive;

/** How a limit of one kind is compared with what was seen. All in the unit of the limit. */
sealed interface Measure {

    /** A caller that uses less than this share of the limit would not notice a higher one. */
    double USED = 0.8;

    static Measure of(AdaptivePolicy policy) {
        return policy instanceof AdaptiveRate rate ? new OfRate(rate.period().toNanos()) : new InFlight();
    }

    /** Whether the calls of the window were as many as the limit allows, or nearly. */
    boolean isUsedUp(double limit, Window window, long nowNanos);

    /** What the downstream served while it refused more. */
    double borne(double limit, Window window, long nowNanos);

    /** What the downstream served while calls took {@code latency} instead of {@code bearable}. */
    double borneSlowly(double limit, Window window, long latencyNanos, long bearableNanos, long nowNanos);

    /**
     * By how much more was sent than came back, as a share: a queue grows. After growth more calls are in flight without any queue, so that many do not count, and
     * one more by chance does not either.
     */
    double ahead(Window window, long inFlight, double grown);

    /** Whether so many would be in flight if none of them stood in a queue. */
    boolean isWithoutQueue(double limit, long inFlight, long baselineNanos);

    /** Whether lowering the limit by this share of the excess latency lets what has piled up drain; otherwise it goes by itself. */
    boolean drains();

    /** Permits per period. */
    record OfRate(long periodNanos) implements Measure {

        @Override
        public boolean isUsedUp(double limit, Window window, long nowNanos) {
            // One less, because a window may begin right after a call left.
            return window.started() + 1 >= USED * limit / periodNanos * window.ageNanos(nowNanos);
        }

        @Override
        public double borne(double limit, Window window, long nowNanos) {
            return window.deliveredPerNano(nowNanos) * periodNanos;
        }

        @Override
        public double borneSlowly(double limit, Window window, long latencyNanos, long bearableNanos, long nowNanos) {
            return window.deliveredPerNano(nowNanos) * periodNanos;
        }

        @Override
        public double ahead(Window window, long inFlight, double grown) {
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
    record InFlight() implements Measure {

        @Override
        public boolean isUsedUp(double limit, Window window, long nowNanos) {
            return window.mostInFlight() >= USED * Math.floor(limit);
        }

        @Override
        public double borne(double limit, Window window, long nowNanos) {
            return limit * window.servedShare();
        }

        @Override
        public double borneSlowly(double limit, Window window, long latencyNanos, long bearableNanos, long nowNanos) {
            return limit * bearableNanos / Math.max(1, latencyNanos);
        }

        @Override
        public double ahead(Window window, long inFlight, double grown) {
            return 0;
        }

        @Override
        public boolean isWithoutQueue(double limit, long inFlight, long baselineNanos) {
            return false;
        }

        @Override
        public boolean drains() {
            return false;
        }
    }
}
