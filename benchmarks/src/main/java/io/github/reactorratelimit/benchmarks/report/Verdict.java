package io.github.reactorratelimit.benchmarks.report;

import java.util.Optional;

/**
 * How a goal was reached in one run.
 *
 * @param goal what was asked for
 * @param reached the ratio or value; NaN if not measured
 * @param outcome met or not
 */
public record Verdict(Goal goal, double reached, Outcome outcome) {

    /** Half a byte per operation is what the profiler itself sometimes shows. */
    private static final double BYTES_OF_THE_PROFILER = 0.5;

    /** Met or not. */
    public enum Outcome {
        MET,
        NOT_MET,
        NOT_MEASURED
    }

    static Verdict of(Goal goal, Results results) {
        Better better = switch (goal.against()) {
            case BEST_PEER, CONTENDER, VALUE -> results.group().better();
            case BYTES, EXTRA_BYTES, BYTES_OF, DETAIL_OF_BEST_PEER, DETAIL -> Better.LESS;
        };
        double reached = results.of(goal.ours())
                .flatMap(ours -> reached(goal, ours, results))
                .orElse(Double.NaN);
        double slack = goal.against() == Goal.Against.BYTES || goal.against() == Goal.Against.EXTRA_BYTES
                ? BYTES_OF_THE_PROFILER
                : 0;
        Outcome outcome = Double.isNaN(reached)
                ? Outcome.NOT_MEASURED
                : better.within(reached - slack, goal.bound()) ? Outcome.MET : Outcome.NOT_MET;
        return new Verdict(goal, reached, outcome);
    }

    private static Optional<Double> reached(Goal goal, Measurement ours, Results results) {
        String other = goal.other();
        return switch (goal.against()) {
            case BEST_PEER -> results.bestPeerOf(ours).map(peer -> ours.median() / peer.median());
            case CONTENDER -> results.of(other).map(found -> ours.median() / found.median());
            case VALUE -> Optional.of(ours.median());
            case BYTES -> Optional.of(ours.bytesPerOperation());
            case EXTRA_BYTES -> results.of(other).map(found -> ours.bytesPerOperation() - found.bytesPerOperation());
            case BYTES_OF -> results.of(other).map(found -> ours.bytesPerOperation() / found.bytesPerOperation());
            case DETAIL_OF_BEST_PEER -> results.bestPeerOf(ours).map(peer -> detail(ours, other) / detail(peer, other));
            case DETAIL -> Optional.of(detail(ours, other));
        };
    }

    private static double detail(Measurement measurement, String name) {
        return measurement.details().getOrDefault(name, Double.NaN);
    }

    /** The goal and how it was reached, in one line of Markdown. */
    public String text(Group group) {
        return goal.text(group) + ": "
                + switch (outcome) {
                    case MET -> "**met** (" + Figures.plain(reached) + ")";
                    case NOT_MET -> "**not met** (" + Figures.plain(reached) + ")";
                    case NOT_MEASURED -> "not measured";
                };
    }
}
