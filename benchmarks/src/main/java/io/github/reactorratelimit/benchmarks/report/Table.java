package io.github.reactorratelimit.benchmarks.report;

import io.github.reactorratelimit.benchmarks.ComparedBenchmark;
import io.github.reactorratelimit.benchmarks.Contender.Kind;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/** The rows of one group as a table in Markdown. Ratios compare rows of one run. */
final class Table {

    private final List<Row> current;
    private final List<Row> baseline;

    Table(List<Row> rows) {
        current = rows.stream()
                .filter(row -> row.jar().equals(ComparedBenchmark.CURRENT))
                .toList();
        baseline = rows.stream()
                .filter(row -> row.jar().equals(ComparedBenchmark.BASELINE))
                .toList();
    }

    List<Row> rows() {
        return current;
    }

    String markdown() {
        Set<String> details = new TreeSet<>();
        current.forEach(row -> details.addAll(row.details().keySet()));
        List<String> head = new ArrayList<>(List.of("contender", current.get(0).unit(), "range"));
        head.addAll(details);
        if (!baseline.isEmpty()) {
            head.addAll(List.of("baseline", "× baseline"));
        }
        head.addAll(List.of("× best peer", "× floor"));
        StringBuilder text = new StringBuilder(line(head)).append("|---").append("|--:".repeat(head.size() - 1));
        text.append("|\n");
        current.forEach(row -> text.append(line(cells(row, details))));
        return text.toString();
    }

    private List<String> cells(Row row, Set<String> details) {
        String mark = row.kind() == Kind.OURS ? "**" : "";
        List<String> cells = new ArrayList<>(List.of(
                mark + row.label() + mark, figure(row.median()), figure(row.low()) + " – " + figure(row.high())));
        details.forEach(name -> cells.add(figure(row.details().getOrDefault(name, Double.NaN))));
        if (!baseline.isEmpty()) {
            Optional<Row> before = baseline.stream()
                    .filter(other -> other.label().equals(row.label()))
                    .findFirst();
            cells.add(before.map(other -> figure(other.median()) + bytes(other)).orElse("–"));
            cells.add(ratio(row, before));
        }
        cells.add(ratio(row, best(Kind.PEER)));
        cells.add(ratio(
                row,
                current.stream().filter(other -> other.kind() == Kind.FLOOR).findFirst()));
        return cells;
    }

    private static String bytes(Row row) {
        Double bytes = row.details().get(Row.BYTES);
        return bytes == null ? "" : " (" + figure(bytes) + " B)";
    }

    private Optional<Row> best(Kind kind) {
        Comparator<Row> order = Comparator.comparingDouble(Row::median);
        return current.stream()
                .filter(row -> row.kind() == kind)
                .min(current.get(0).isMoreBetter() ? order.reversed() : order);
    }

    private static String ratio(Row row, Optional<Row> to) {
        return to.map(other -> String.format(Locale.ROOT, "%.3f", row.median() / other.median()))
                .orElse("–");
    }

    private static String line(List<String> cells) {
        return "| " + String.join(" | ", cells) + " |\n";
    }

    /** Three digits, thousands apart. */
    static String figure(double value) {
        if (Double.isNaN(value)) {
            return "–";
        }
        double size = Math.abs(value);
        if (size >= 1_000) {
            return String.format(Locale.ROOT, "%,.0f", value).replace(',', ' ');
        }
        if (size >= 100 || value == Math.rint(value)) {
            return String.format(Locale.ROOT, "%.0f", value);
        }
        return String.format(Locale.ROOT, size >= 10 ? "%.1f" : "%.2f", value);
    }
}
