package io.github.reactorratelimit.benchmarks.report;

import java.util.List;

/**
 * A bar per contender with the median at its end and the range of its rounds on it. A bar far longer than most is cut, and
 * shows it, so that the others stay readable.
 */
final class BarChart {

    private static final double WIDTH = 760;
    private static final double LABELS = 250;
    private static final double VALUES = 90;
    private static final double TOP = 52;
    private static final double ROW = 26;
    private static final double BAR = 16;
    private static final double LONGEST_OF_MIDDLE = 6;

    private BarChart() {}

    static String svg(Results results) {
        Group group = results.group();
        List<Measurement> bars = results.measurements();
        double height = TOP + ROW * bars.size() + 14;
        Svg svg = new Svg(WIDTH, height, group.title());
        String better = group.better() == Better.LESS ? "less is better" : "more is better";
        svg.text(8, 20, "title", "start", group.title());
        svg.text(8, 38, "small", "start", group.unit() + ", " + better + "; median, lowest and highest round");
        double longest = longest(bars);
        double scale = (WIDTH - LABELS - VALUES) / longest;
        double y = TOP;
        for (Measurement bar : bars) {
            bar(svg, bar, y, scale, longest);
            y += ROW;
        }
        svg.line(LABELS, TOP - 4, LABELS, y, "axis");
        return svg.document();
    }

    private static void bar(Svg svg, Measurement bar, double y, double scale, double longest) {
        double middle = y + BAR / 2;
        double end = LABELS + Math.min(bar.median(), longest) * scale;
        svg.text(LABELS - 8, middle + 4.5, "label", "end", bar.contender());
        svg.rectangle(LABELS, y, Math.max(end - LABELS, 1), BAR, bar.kind().label());
        double valueAt = end;
        if (bar.median() > longest) {
            svg.line(end - 18, y + BAR + 2, end - 10, y - 2, "cut");
        } else {
            double low = LABELS + bar.low() * scale;
            double high = LABELS + Math.min(bar.high(), longest) * scale;
            svg.line(low, middle, high, middle, "range");
            svg.line(low, middle - 4, low, middle + 4, "range");
            svg.line(high, middle - 4, high, middle + 4, "range");
            valueAt = Math.max(end, high);
        }
        svg.text(valueAt + 7, middle + 4.5, "value", "start", Figures.plain(bar.median()));
    }

    private static double longest(List<Measurement> bars) {
        double[] medians =
                bars.stream().mapToDouble(Measurement::median).sorted().toArray();
        double limit = LONGEST_OF_MIDDLE * medians[medians.length / 2];
        double max = 0;
        for (Measurement bar : bars) {
            if (bar.median() <= limit) {
                max = Math.max(max, Math.min(bar.high(), limit));
            }
        }
        return max > 0 ? max : 1;
    }
}
