package io.github.reactorratelimit.adaptive;

/**
 * Raises a limit again. It grows slowly near the last point of overload, where the next rejections are, and
 * fast away from it:
 *
 * <ul>
 *   <li>below nine tenths of the load that was borne, and at the start, each window doubles the limit;
 *   <li>from there it follows a cubic that is steep at first and flat at that point, which it reaches after
 *       the <em>climb</em>;
 *   <li>beyond that point it probes: 2 % more in the first window, 4 % in the next, and so on up to 40 %,
 *       because the downstream may bear more than before.
 * </ul>
 *
 * <p>Each probe is paid for before the next one: the climb lasts {@value #CALLS_PER_REFUSAL} calls for each
 * rejection that the last probe cost, and at least {@value #LEAST_CALLS}, if that takes no longer than ten
 * seconds. So rejections stay a small share. A probe costs about two where the downstream rejects only the
 * excess, and all calls in flight where it collapses.
 *
 * <p>After a collapse the limit returns to slightly less than the load before the steps that led to it,
 * because the downstream did not bear those for long. Below the limit that collapsed no step is larger than 8
 * %. If a leap led there, the point of overload lies in a wide gap: probes with such steps begin immediately.
 */
final class LimitGrowth {

    /** The last move. */
    private enum Move {
        /** None since the last collapse. */
        NONE,
        /** Towards the load that was borne. */
        CLIMB,
        /** Beyond it. */
        STEP,
        /** Beyond it, and far. */
        LEAP
    }

    private static final double NEAR = 0.9;
    private static final double DOUBLING = 2;
    private static final double FIRST_STEP = 0.02;
    private static final double CAREFUL_STEP = 0.08;
    private static final double LAST_STEP = 0.4;
    private static final double LESS = 0.95;
    private static final int CALLS_PER_REFUSAL = 75;
    private static final int LEAST_CALLS = 140;
    private static final double LEAST_CLIMB_NANOS = 4e9;
    private static final double LONGEST_CLIMB_NANOS = 10e9;

    private double from;
    private double to = Double.POSITIVE_INFINITY;
    private long climbedNanos;
    private long climbedCalls;
    private long refusals;
    private double step;

    private Move move = Move.NONE;
    private double reached;

    /** The limit to return to if the current one collapses. */
    private double safe = Double.POSITIVE_INFINITY;

    /** The limit that collapsed last; 0 if there was other evidence since. */
    private double edge;

    /** The limit fell to {@code from}, because {@code to} was too much. */
    void beginAt(double from, double to) {
        this.from = Math.min(from, to);
        this.to = to;
        safe = Math.min(safe, to);
        climbedNanos = 0;
        climbedCalls = 0;
        refusals = 0;
        step = 0;
        edge = 0;
    }

    /** The downstream serves nothing any more. A second collapse without a move between says nothing new. */
    void collapsed() {
        if (move == Move.NONE) {
            return;
        }
        long cost = refusals;
        beginAt(NEAR * safe, safe);
        refusals = cost;
        edge = reached;
        climbedNanos = move == Move.LEAP ? (long) LONGEST_CLIMB_NANOS : 0;
        move = Move.NONE;
    }

    /** The last probe cost one more rejection. */
    void refused() {
        refusals++;
    }

    /** Whether the limit has moved since the last collapse. */
    boolean hasMoved() {
        return move != Move.NONE;
    }

    /** Whether the limit is beyond the load that was borne. */
    boolean isProbing() {
        return move == Move.STEP || move == Move.LEAP;
    }

    /**
     * The limit after a window that used it up without a sign of overload.
     *
     * @param calls that were served in it
     * @param gently whether steps should not become larger
     */
    double after(double limit, long windowNanos, long calls, boolean gently) {
        reached = limit < NEAR * to ? doubled(limit) : climbed(limit, windowNanos, calls, gently);
        return reached;
    }

    private double doubled(double limit) {
        move = Move.LEAP;
        safe = limit;
        return Math.min(DOUBLING * limit, NEAR * to);
    }

    private double climbed(double limit, long windowNanos, long calls, boolean gently) {
        climbedNanos += windowNanos;
        climbedCalls += calls;
        double left = 1 - shareOfClimb();
        if (left <= 0) {
            return probe(limit, gently);
        }
        move = Move.CLIMB;
        double next = Math.max(limit, to - (to - from) * left * left * left);
        safe = LESS * next;
        return next;
    }

    private double shareOfClimb() {
        double paid = (double) climbedCalls / Math.max(LEAST_CALLS, CALLS_PER_REFUSAL * refusals);
        return Math.max(climbedNanos / LONGEST_CLIMB_NANOS, Math.min(climbedNanos / LEAST_CLIMB_NANOS, paid));
    }

    private double probe(double limit, boolean gently) {
        double largest = limit < edge ? CAREFUL_STEP : LAST_STEP;
        step = step == 0 ? FIRST_STEP : Math.min(largest, gently ? step : 2 * step);
        move = step == LAST_STEP ? Move.LEAP : Move.STEP;
        double next = Math.max(limit, to) * (1 + step);
        safe = LESS * beforeLastSteps(next);
        return next;
    }

    /**
     * The load that was borne for sure, if the first rejection comes at {@code limit}. Beyond the point of
     * overload the steps double, and a downstream with a bucket or a queue lets some of them pass before it
     * rejects: two steps back. The largest steps are noticed immediately: one step back.
     */
    double beforeLastSteps(double limit) {
        double oneBack = limit / (1 + step);
        return Math.max(Math.min(limit, to), step == LAST_STEP ? oneBack : oneBack / (1 + step / 2));
    }

    /** Begins with small steps again, after a doubtful window. */
    void pause() {
        step = 0;
    }
}
