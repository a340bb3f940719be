package io.github.reactorratelimit.benchmarks.report;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * One group's run: what was measured, when and how.
 *
 * @param group what was measured
 * @param run when and how
 * @param measurements one for each contender that has rounds, in the group's order
 */
public record Results(Group group, Run run, List<Measurement> measurements) {

    public Results {
        measurements = List.copyOf(measurements);
    }

    /** Sums up raw rounds. Contenders without rounds are left out. */
    public static Results of(Group group, Run run, List<Round> rounds) {
        List<Measurement> measurements = new ArrayList<>();
        for (Contender contender : group.contenders()) {
            List<Sample> samples = rounds.stream()
                    .filter(round -> round.contender().equals(contender.name()))
                    .map(Round::sample)
                    .toList();
            if (!samples.isEmpty()) {
                measurements.add(Measurement.of(group, contender, samples));
            }
        }
        return new Results(group, run, measurements);
    }

    /** The measurement of a contender. */
    public Optional<Measurement> of(String contender) {
        return measurements.stream()
                .filter(measurement -> measurement.contender().equals(contender))
                .findFirst();
    }

    /** The best peer by median. */
    public Optional<Measurement> bestPeer() {
        return best(Kind.PEER);
    }

    /** The best peer that a contender is compared with: by median, in a line chart at the same place. */
    public Optional<Measurement> bestPeerOf(Measurement measurement) {
        double x = x(measurement);
        return measurements.stream()
                .filter(other -> other.kind() == Kind.PEER && Double.compare(x(other), x) == 0)
                .min(group.better().order());
    }

    /** The best of ours by median. */
    public Optional<Measurement> bestOfOurs() {
        return best(Kind.OURS);
    }

    private Optional<Measurement> best(Kind kind) {
        return measurements.stream()
                .filter(measurement -> measurement.kind() == kind)
                .min(group.better().order());
    }

    /** The floor that a contender's ratio refers to: the first one of the group, in a line chart the first at the same place. */
    public Optional<Measurement> floorOf(Measurement measurement) {
        double x = x(measurement);
        return measurements.stream()
                .filter(other -> other.kind() == Kind.FLOOR && Double.compare(x(other), x) == 0)
                .findFirst();
    }

    private double x(Measurement measurement) {
        return group.contenders().stream()
                .filter(contender -> contender.name().equals(measurement.contender()))
                .mapToDouble(Contender::x)
                .findFirst()
                .orElse(Double.NaN);
    }

    /** How the goals were reached. */
    public List<Verdict> verdicts() {
        return group.goals().stream().map(goal -> Verdict.of(goal, this)).toList();
    }
}
