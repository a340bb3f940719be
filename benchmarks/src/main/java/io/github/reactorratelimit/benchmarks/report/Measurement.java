package io.github.reactorratelimit.benchmarks.report;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.ToDoubleFunction;

/**
 * A contender's rounds in short.
 *
 * @param group the group's id
 * @param contender the contender's name
 * @param kind whose it is
 * @param unit of {@code median}, {@code low} and {@code high}
 * @param median over the rounds
 * @param low the lowest round
 * @param high the highest round
 * @param bytesPerOperation median over the rounds; NaN if not measured
 * @param details medians of the further figures
 */
public record Measurement(
        String group,
        String contender,
        Kind kind,
        String unit,
        double median,
        double low,
        double high,
        double bytesPerOperation,
        Map<String, Double> details) {

    /** Sums up the rounds of one contender. */
    public static Measurement of(Group group, Contender contender, List<Sample> rounds) {
        double[] values = sorted(rounds, Sample::value);
        if (values.length == 0) {
            throw new IllegalArgumentException("no rounds of " + contender.name() + " in " + group.id());
        }
        Map<String, Double> details = new TreeMap<>();
        TreeSet<String> names = new TreeSet<>();
        rounds.forEach(round -> names.addAll(round.details().keySet()));
        for (String name : names) {
            details.put(name, median(sorted(rounds, round -> round.details().getOrDefault(name, Double.NaN))));
        }
        return new Measurement(
                group.id(),
                contender.name(),
                contender.kind(),
                group.unit(),
                median(values),
                values[0],
                values[values.length - 1],
                median(sorted(rounds, Sample::bytesPerOperation)),
                details);
    }

    private static double[] sorted(List<Sample> rounds, ToDoubleFunction<Sample> figure) {
        double[] values = rounds.stream()
                .mapToDouble(figure)
                .filter(v -> !Double.isNaN(v))
                .toArray();
        Arrays.sort(values);
        return values;
    }

    private static double median(double[] sorted) {
        int n = sorted.length;
        return n == 0 ? Double.NaN : (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
    }
}
