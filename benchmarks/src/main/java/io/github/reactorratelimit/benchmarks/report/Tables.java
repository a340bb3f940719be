package io.github.reactorratelimit.benchmarks.report;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/** The tables in Markdown. */
public final class Tables {

    private Tables() {}

    /** Every group with its table, its chart, its targets and how it was run. */
    public static String markdown(List<Results> all) {
        StringBuilder text = new StringBuilder("""
                # Benchmark results

                Written by the `benchmarks` module; [how to run and read them](../benchmarks.md). Medians over rounds, the lowest
                and highest round beside them. Only ratios within one group count: they come from one run.

                """);
        for (Results results : all) {
            text.append(section(results));
        }
        return text.toString().stripTrailing() + "\n";
    }

    private static String section(Results results) {
        Group group = results.group();
        StringBuilder text = new StringBuilder("## " + group.title() + "\n\n");
        if (!group.note().isEmpty()) {
            text.append(group.note()).append("\n\n");
        }
        text.append(table(results)).append('\n');
        for (Verdict verdict : results.verdicts()) {
            text.append("- target: ").append(verdict.text(group)).append('\n');
        }
        text.append(results.verdicts().isEmpty() ? "" : "\n");
        text.append("![").append(group.title()).append("](").append(group.id()).append(".svg)\n\n");
        text.append("Run: ").append(results.run().text()).append(". Group `");
        text.append(group.id()).append("`, [rounds](data/").append(group.id()).append(".csv).\n\n");
        return text.toString();
    }

    /** The table of one group. */
    public static String table(Results results) {
        Set<String> details = new TreeSet<>();
        results.measurements().forEach(found -> details.addAll(found.details().keySet()));
        boolean bytes = results.measurements().stream().anyMatch(found -> !Double.isNaN(found.bytesPerOperation()));
        StringBuilder text =
                new StringBuilder("| contender | | " + results.group().unit() + " | range |");
        StringBuilder rule = new StringBuilder("|---|---|--:|--:|");
        if (bytes) {
            text.append(" B/op |");
            rule.append("--:|");
        }
        for (String detail : details) {
            text.append(' ').append(detail).append(" |");
            rule.append("--:|");
        }
        text.append(" × best peer | × floor |\n").append(rule).append("--:|--:|\n");
        for (Measurement measurement : results.measurements()) {
            text.append(row(results, measurement, bytes, details));
        }
        return text.toString();
    }

    private static String row(Results results, Measurement measurement, boolean bytes, Set<String> details) {
        String mark = measurement.kind() == Kind.OURS ? "**" : "";
        StringBuilder text = new StringBuilder("| ");
        text.append(mark).append(measurement.contender()).append(mark);
        text.append(" | ").append(measurement.kind().label());
        text.append(" | ").append(Figures.plain(measurement.median()));
        text.append(" | ").append(Figures.plain(measurement.low()));
        text.append(" – ").append(Figures.plain(measurement.high()));
        if (bytes) {
            text.append(" | ").append(Figures.plain(roundedBytes(measurement.bytesPerOperation())));
        }
        Map<String, Double> figures = measurement.details();
        for (String detail : details) {
            text.append(" | ").append(Figures.plain(figures.getOrDefault(detail, Double.NaN)));
        }
        text.append(" | ").append(ratio(measurement, results.bestPeerOf(measurement)));
        text.append(" | ").append(ratio(measurement, results.floorOf(measurement)));
        return text.append(" |\n").toString();
    }

    private static double roundedBytes(double bytes) {
        return Double.isNaN(bytes) ? bytes : Math.rint(bytes);
    }

    private static String ratio(Measurement measurement, Optional<Measurement> to) {
        return Figures.ratio(
                to.map(other -> measurement.median() / other.median()).orElse(Double.NaN));
    }
}
