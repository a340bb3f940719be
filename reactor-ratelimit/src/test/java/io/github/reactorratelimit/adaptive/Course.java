package io.github.reactorratelimit.adaptive;

import java.time.Duration;
import java.util.List;

/** What became of one phase of a simulation, or of a run against a real server. */
record Course(
        double capacity,
        double possible,
        int convergedAt,
        long served,
        long servedAfter,
        long refusedAfter,
        int steps) {

    /** A higher limit than this share of the capacity overruns the downstream. */
    private static final double OVERRUN = 1.5;

    private static final double ENOUGH = 0.85;
    private static final double FEW = 0.02;
    private static final int STRETCH = (int) Duration.ofSeconds(10).dividedBy(Simulation.STEP);

    /**
     * Converged is the first step from which on the limit does not overrun the downstream, and in whose next ten seconds enough is served and little refused.
     *
     * @param possible calls that could be served per step
     */
    static Course of(List<Simulation.Point> phase, double possible) {
        double capacity = phase.get(0).capacity();
        int from = 0;
        for (int i = 0; i < phase.size(); i++) {
            if (phase.get(i).limit() > OVERRUN * capacity) {
                from = i + 1;
            }
        }
        while (from + STRETCH <= phase.size() && !isFine(phase.subList(from, from + STRETCH), possible)) {
            from++;
        }
        List<Simulation.Point> after = phase.subList(from, phase.size());
        return new Course(
                capacity, possible * phase.size(), from, served(phase), served(after), refused(after), phase.size());
    }

    private static boolean isFine(List<Simulation.Point> stretch, double possible) {
        long served = served(stretch);
        long refused = refused(stretch);
        return served >= ENOUGH * possible * stretch.size() && refused < FEW * (served + refused);
    }

    private static long refused(List<Simulation.Point> points) {
        return points.stream().mapToLong(Simulation.Point::refused).sum();
    }

    private static long served(List<Simulation.Point> points) {
        return points.stream().mapToLong(Simulation.Point::served).sum();
    }

    Duration convergence() {
        return Simulation.STEP.multipliedBy(convergedAt);
    }

    /** Of what was possible from convergence on. */
    double goodput() {
        return servedAfter / (possible * (steps - convergedAt) / steps);
    }

    /** Of the answers from convergence on. */
    double refusedShare() {
        return (double) refusedAfter / Math.max(1, refusedAfter + servedAfter);
    }

    @Override
    public String toString() {
        return String.format(
                java.util.Locale.ROOT,
                "%.0f: converged after %.1f s, then goodput %.1f %%, refused %.2f %%",
                capacity,
                convergence().toMillis() / 1e3,
                100 * goodput(),
                100 * refusedShare());
    }
}
