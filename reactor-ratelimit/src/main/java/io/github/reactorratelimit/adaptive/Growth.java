package io.github.reactorratelimit.adaptive;

/**
 * How a limit comes back. Near the last point of overload slowly, because that is where the next refusals are; away from it fast, because there is nothing to
 * fear:
 *
 * <ul>
 *   <li>before anything was ever refused to twice as much with each window;
 *   <li>after a decrease along a cubic that is steep at first and flat at the point of overload, which it reaches after the <em>climb</em>;
 *   <li>beyond that point by 2 % with the first window, 4 % with the next, and so on up to 40 %: the downstream can bear more than it could.
 * </ul>
 *
 * <p>A probe costs about two refusals, so the climb lasts {@value #CALLS_PER_CLIMB} calls if that takes no longer than ten seconds: they stay a small share.
 */
final class Growth {

    private static final double AT_FIRST = 2;
    private static final double FIRST_STEP = 0.02;
    private static final double LAST_STEP = 0.4;
    private static final int CALLS_PER_CLIMB = 150;
    private static final long LEAST_CLIMB_NANOS = 4_000_000_000L;
    private static final long LONGEST_CLIMB_NANOS = 10_000_000_000L;

    /** Nothing was refused yet. */
    private boolean atFirst = true;

    private double from;
    private double to;
    private long climbNanos;
    private long climbedNanos;
    private double step;

    /** The limit fell to {@code from}, because {@code to} was too much. */
    void beginAt(double from, double to, double callsPerNano) {
        atFirst = false;
        this.from = Math.min(from, to);
        this.to = to;
        double nanos = callsPerNano > 0 ? CALLS_PER_CLIMB / callsPerNano : LEAST_CLIMB_NANOS;
        climbNanos = (long) Math.max(LEAST_CLIMB_NANOS, Math.min(LONGEST_CLIMB_NANOS, nanos));
        climbedNanos = 0;
        step = 0;
    }

    /**
     * The limit after a window in which it was used up and nothing was wrong.
     *
     * @param gently whether steps should not become larger
     */
    double after(double limit, long windowNanos, boolean gently) {
        if (atFirst) {
            return limit * AT_FIRST;
        }
        climbedNanos += Math.min(windowNanos, climbNanos);
        if (climbedNanos < climbNanos) {
            double left = 1 - (double) climbedNanos / climbNanos;
            return Math.max(limit, to - (to - from) * left * left * left);
        }
        step = step == 0 ? FIRST_STEP : Math.min(LAST_STEP, gently ? step : 2 * step);
        return Math.max(limit, to) * (1 + step);
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
