package io.github.reactorratelimit.adaptive;

/**
 * How a limit comes back. Near the last point of overload slowly, because that is where the next refusals are; away from it fast, because there is nothing to
 * fear:
 *
 * <ul>
 *   <li>below nine tenths of what is known to be borne to twice as much with each window; at the start nothing is known;
 *   <li>from there along a cubic that is steep at first and flat at that point, which it reaches after the <em>climb</em>;
 *   <li>beyond that point, as a probe, by 2 % with the first window, 4 % with the next, and so on up to 40 %: the downstream can bear more than it could.
 * </ul>
 *
 * <p>A probe is paid for before the next one: the climb lasts {@value #CALLS_PER_REFUSAL} calls for each refusal that the last one cost, and
 * {@value #LEAST_CALLS} at least, if that takes no longer than ten seconds. So refusals stay a small share whatever a probe costs: about two, where the downstream refuses
 * just what is too much; all that is in flight, where it collapses.
 *
 * <p>After a collapse the limit comes back to what was borne before the steps that led to it, and a little less, for that was not borne for long. Below the limit
 * that collapsed no step is larger than 8 %. If it was a leap that led there, the point is somewhere in a wide gap: it is looked for at once, with such steps.
 */
final class Growth {

    /** What the last move was. */
    private enum Move {
        /** None since the last collapse. */
        NONE,
        /** Towards what is known to be borne. */
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

    /** What to come back to if what was reached collapses. */
    private double safe = Double.POSITIVE_INFINITY;

    /** The limit that collapsed last; 0 if something else was learned since. */
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

    /** Nothing is served any more. Once more of the same says nothing new. */
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

    /** The last probe cost one more. */
    void refused() {
        refusals++;
    }

    /** Whether the limit has moved since the last collapse. */
    boolean hasMoved() {
        return move != Move.NONE;
    }

    /** Whether the limit is beyond what is known to be borne. */
    boolean isProbing() {
        return move == Move.STEP || move == Move.LEAP;
    }

    /**
     * The limit after a window in which it was used up and nothing was wrong.
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
     * What was borne for sure, when the first refusal comes at {@code limit}. Beyond the point of overload the steps double, and a downstream with a bucket or a queue
     * lets some of them pass before it refuses: two steps back. Only the largest steps are noticed at once: one back.
     */
    double beforeLastSteps(double limit) {
        double oneBack = limit / (1 + step);
        return Math.max(Math.min(limit, to), step == LAST_STEP ? oneBack : oneBack / (1 + step / 2));
    }

    /** Something was not quite right: no more leaps. */
    void pause() {
        step = 0;
    }
}
