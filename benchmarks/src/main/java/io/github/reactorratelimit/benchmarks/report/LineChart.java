package io.github.reactorratelimit.benchmarks.report;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Lines over a logarithmic axis, such as the number of keys: how a figure grows. */
final class LineChart {

    private static final double WIDTH = 760;
    private static final double HEIGHT = 340;
    private static final double LEFT = 70;
    private static final double RIGHT = 200;
    private static final double TOP = 56;
    private static final double BOTTOM = 36;
    private static final int GRID_LINES = 4;

    private record Point(double x, Measurement measurement) {}

    private final Svg svg;
    private final double lowX;
    private final double highX;
    private final double highY;

    private LineChart(Svg svg, double lowX, double highX, double highY) {
        this.svg = svg;
        this.lowX = lowX;
        this.highX = highX;
        this.highY = highY;
    }

    static String svg(Results results) {
        Group group = results.group();
        Map<String, List<Point>> lines = new LinkedHashMap<>();
        for (Contender contender : group.contenders()) {
            results.of(contender.name())
                    .ifPresent(found -> lines.computeIfAbsent(contender.series(), series -> new ArrayList<>())
                            .add(new Point(contender.x(), found)));
        }
        List<Point> all = lines.values().stream().flatMap(List::stream).toList();
        Svg svg = new Svg(WIDTH, HEIGHT, group.title());
        String better = group.better() == Better.LESS ? "less is better" : "more is better";
        svg.text(8, 20, "title", "start", group.title());
        svg.text(8, 38, "small", "start", group.unit() + ", " + better + "; median, lowest and highest round");
        new LineChart(
                        svg,
                        all.stream().mapToDouble(Point::x).min().orElse(1),
                        all.stream().mapToDouble(Point::x).max().orElse(10),
                        all.stream()
                                        .mapToDouble(
                                                point -> point.measurement().high())
                                        .max()
                                        .orElse(1)
                                * 1.05)
                .draw(lines, all);
        return svg.document();
    }

    private void draw(Map<String, List<Point>> lines, List<Point> all) {
        for (int i = 0; i <= GRID_LINES; i++) {
            double value = highY * i / GRID_LINES;
            svg.line(LEFT, y(value), WIDTH - RIGHT, y(value), i == 0 ? "axis" : "grid");
            svg.text(LEFT - 8, y(value) + 4, "small", "end", Figures.plain(value));
        }
        all.stream()
                .mapToDouble(Point::x)
                .distinct()
                .sorted()
                .forEach(x -> svg.text(x(x), HEIGHT - BOTTOM + 18, "small", "middle", Figures.plain(x)));
        double nextLabel = TOP;
        for (Map.Entry<String, List<Point>> line : lines.entrySet()) {
            List<Point> points = line.getValue();
            String kind = points.get(0).measurement().kind().label();
            for (int i = 0; i < points.size(); i++) {
                point(points.get(i), kind);
                if (i > 0) {
                    segment(points.get(i - 1), points.get(i), kind);
                }
            }
            nextLabel = label(line.getKey(), points.get(points.size() - 1), nextLabel);
        }
    }

    private void point(Point point, String kind) {
        Measurement found = point.measurement();
        svg.line(x(point.x()), y(found.low()), x(point.x()), y(found.high()), "range");
        svg.circle(x(point.x()), y(found.median()), 4, kind);
    }

    private void segment(Point from, Point to, String kind) {
        double fromY = y(from.measurement().median());
        double toY = y(to.measurement().median());
        svg.line(x(from.x()), fromY, x(to.x()), toY, "line " + kind);
    }

    private double label(String series, Point last, double notAbove) {
        double labelY = Math.max(notAbove, y(last.measurement().median()));
        svg.text(WIDTH - RIGHT + 12, labelY + 4, "label", "start", series);
        return labelY + 17;
    }

    private double x(double value) {
        double share = highX == lowX ? 0 : Math.log(value / lowX) / Math.log(highX / lowX);
        return LEFT + 10 + share * (WIDTH - LEFT - RIGHT - 20);
    }

    private double y(double value) {
        return HEIGHT - BOTTOM - value / highY * (HEIGHT - TOP - BOTTOM);
    }
}
