package io.github.reactorratelimit.benchmarks.report;

import java.util.List;
import java.util.Locale;

/**
 * An SVG with a bar for each row: the median, and a line from the lowest to the highest round. A bar much
 * longer than most is cut, so that the others stay readable.
 */
final class Chart {

    private static final double WIDTH = 760;
    private static final double LETTER = 6.8;
    private static final double VALUES = 90;
    private static final double TOP = 52;
    private static final double ROW = 26;
    private static final double BAR = 16;
    private static final double LONGEST_OF_MIDDLE = 6;
    private static final String STYLE = """
            text { font: 13px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328 }
            .page { fill: #ffffff } .title { font-weight: 600; font-size: 15px } .small { font-size: 11px }
            .range { stroke: #1f2328; stroke-width: 1.5 }
            .ours { fill: #1a7f37 } .peer { fill: #4078c0 } .floor { fill: #8c959f }
            @media (prefers-color-scheme: dark) {
              .page { fill: #0d1117 } text { fill: #e6edf3 } .range { stroke: #e6edf3 }
              .ours { fill: #3fb950 } .peer { fill: #6ea8fe } .floor { fill: #6e7681 }
            }
            """;

    private final StringBuilder shapes = new StringBuilder();
    private final double left;
    private final double longest;

    private Chart(List<Row> rows) {
        int letters = rows.stream().mapToInt(row -> row.label().length()).max().orElse(0);
        left = 24 + LETTER * letters;
        longest = longest(rows);
    }

    static String svg(String title, List<Row> rows) {
        Chart chart = new Chart(rows);
        String better = rows.get(0).isMoreBetter() ? "more is better" : "less is better";
        chart.text(8, 20, "title", "start", title);
        chart.text(8, 38, "small", "start", rows.get(0).unit() + ", " + better + "; median, lowest and highest round");
        double y = TOP;
        for (Row row : rows) {
            chart.bar(row, y);
            y += ROW;
        }
        return format(
                        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" role=\"img\">%n"
                                + "<title>%s</title>%n",
                        WIDTH, y + 14, escaped(title))
                + "<style>\n" + STYLE + "</style>\n<rect width=\"100%\" height=\"100%\" class=\"page\"/>\n"
                + chart.shapes + "</svg>\n";
    }

    private void bar(Row row, double y) {
        double middle = y + BAR / 2;
        double end = x(row.median());
        text(left - 8, middle + 4.5, "label", "end", row.label());
        shapes.append(format(
                "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" class=\"%s\" rx=\"2\"/>%n",
                left, y, Math.max(1, end - left), BAR, row.kind().name().toLowerCase(Locale.ROOT)));
        shapes.append(format(
                "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"range\"/>%n",
                x(row.low()), middle, x(row.high()), middle));
        String cut = row.median() > longest ? "… " : "";
        text(Math.max(end, x(row.high())) + 7, middle + 4.5, "value", "start", cut + Table.figure(row.median()));
    }

    private double x(double value) {
        return left + Math.min(value, longest) * (WIDTH - left - VALUES) / longest;
    }

    private void text(double x, double y, String style, String anchor, String text) {
        shapes.append(format(
                "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\" text-anchor=\"%s\">%s</text>%n",
                x, y, style, anchor, escaped(text)));
    }

    private static double longest(List<Row> rows) {
        double[] medians = rows.stream().mapToDouble(Row::median).sorted().toArray();
        double cut = LONGEST_OF_MIDDLE * medians[medians.length / 2];
        double highest = rows.stream().mapToDouble(Row::high).max().orElse(1);
        return medians[medians.length - 1] > 2 * cut ? cut : highest;
    }

    private static String format(String pattern, Object... arguments) {
        return String.format(Locale.ROOT, pattern, arguments).replace("\r", "");
    }

    private static String escaped(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;");
    }
}
