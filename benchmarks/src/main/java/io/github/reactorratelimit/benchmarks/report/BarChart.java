package io.github.reactorratelimit.benchmarks.report;

import java.util.List;

/**
 * A bar per contender with the median at its end and the range of its rounds on it. A bar far longer than most is cut, and
 * shows it, so that the others stay readable.
 */
final class BarChart {

    private static final double WIDTH = 760;
    private static final double LETTER = 6.8;
    private static final double VALUES = 90;
    private static final double TOP = 52;
    private static final double ROW = 26;
    private static final double BAR = 16;
    private static final double LONGEST_OF_MIDDLE = 6;

    private final Svg svg;
    private final double left;
    private final double longest;
    private final double scale;

    private BarChart(Svg svg, List<Measurement> bars) {
        this.svg = svg;
        left = 24
                + LETTER
                        * bars.stream()
                                .mapToInt(bar -> bar.contender().length())
                                .max()
                                .orElse(0);
        longest = longest(bars);
        scale = (WIDTH - left - VALUES) / longest;
    }

    static String svg(Results results) {
        Group group = results.group();
        List<Measurement> bars = results.measurements();
        double height = TOP + ROW * bars.size() + 14;
        Svg svg = new Svg(WIDTH, height, group.title());
        String better = group.better() == Better.LESS ? "less is better" : "more is better";
        svg.text(8, 20, "title", "start", group.title());
        svg.text(8, 38, "small", "start", group.unit() + ", " + better + "; median, lowest and highest round");
        new BarChart(svg, bars).draw(bars);
        return svg.document();
    }

    private void draw(List<Measurement> bars) {
        double y = TOP;
        for (Measurement bar : bars) {
            draw(bar, y);
            y += ROW;
        }
        svg.line(left, TOP - 4, left, y, "axis");
    }

    private void draw(Measurement bar, double y) {
        double middle = y + BAR / 2;
        double end = left + Math.min(bar.median(), longest) * scale;
        svg.text(left - 8, middle + 4.5, "label", "end", bar.contender());
        svg.rectangle(left, y, Math.max(end - left, 1), BAR, bar.kind().label());
        double valueAt = end;
        if (bar.median() > longest) {
            svg.line(end - 18, y + BAR + 2, end - 10, y - 2, "cut");
        } else {
            double low = left + bar.low() * scale;
            double high = left + Math.min(bar.high(), longest) * scale;
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
        double middle = medians[medians.length / 2];
        boolean cut = medians[medians.length - 1] > 2 * LONGEST_OF_MIDDLE * middle;
        double limit = cut ? LONGEST_OF_MIDDLE * middle : Double.MAX_VALUE;
        double max = 0;
        for (Measurement bar : bars) {
            if (bar.median() <= limit) {
                max = Math.max(max, Math.min(bar.high(), limit));
            }
        }
        return max > 0 ? max : 1;
    }
}
