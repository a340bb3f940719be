package io.github.reactorratelimit.webflux.fragile;

import io.github.reactorratelimit.webflux.fragile.FragileServer.Arrival;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** What came at a server, second by second, as SVG. Has a background of its own: a page may be dark while the colours are light. */
final class ArrivalsChart {

    private static final int WIDTH = 760;
    private static final int HEIGHT = 340;
    private static final int LEFT = 70;
    private static final int RIGHT = 190;
    private static final int TOP = 56;
    private static final int BOTTOM = 36;
    private static final int GRID_LINES = 4;
    private static final int LABEL_HEIGHT = 17;

    private static final String STYLE = """
            text { font: 13px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328 }
            .page { fill: #ffffff } .title { font-weight: 600; font-size: 15px } .small { font-size: 11px; fill: #59636e }
            .grid { stroke: #8c959f; stroke-opacity: 0.3 }
            polyline { fill: none; stroke-width: 2 }
            .good { stroke: #1a7f37 } .many { stroke: #cf222e } .few { stroke: #9a6700; stroke-dasharray: 4 3 }
            @media (prefers-color-scheme: dark) {
              .page { fill: #0d1117 } text { fill: #e6edf3 } .small { fill: #9198a1 }
              .good { stroke: #3fb950 } .many { stroke: #f85149 } .few { stroke: #d29922 }
            }
            """;

    /**
     * A line of the chart.
     *
     * @param style good, many or few
     */
    record Line(String label, String style, int[] perSecond) {

        /** Whole seconds from the first arrival on, at least one. */
        static Line of(String label, String style, List<Arrival> arrivals, Predicate<Arrival> which) {
            long begin = arrivals.get(0).nanos();
            int seconds = Math.max(1, (int) ((arrivals.get(arrivals.size() - 1).nanos() - begin) / 1_000_000_000L));
            int[] perSecond = new int[seconds];
            arrivals.stream()
                    .filter(which)
                    .mapToInt(arrival -> (int) ((arrival.nanos() - begin) / 1_000_000_000L))
                    .filter(second -> second < seconds)
                    .forEach(second -> perSecond[second]++);
            return new Line(label, style, perSecond);
        }

        private int most() {
            return Arrays.stream(perSecond).max().orElse(0);
        }
    }

    private final List<Line> lines;
    private final int most;
    private final int seconds;

    private ArrivalsChart(List<Line> lines) {
        this.lines = lines;
        this.most = Math.max(1, lines.stream().mapToInt(Line::most).max().orElse(1));
        this.seconds = Math.max(
                2,
                lines.stream().mapToInt(line -> line.perSecond().length).max().orElse(2));
    }

    static String svg(String title, String subtitle, List<Line> lines) {
        ArrivalsChart chart = new ArrivalsChart(lines);
        return format(
                        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\">%n",
                        WIDTH, HEIGHT, WIDTH, HEIGHT)
                + format("<title>%s</title>%n<style>%n%s</style>%n", title, STYLE)
                + "<rect width=\"100%\" height=\"100%\" class=\"page\"/>\n"
                + text(8, 20, "title", "start", title)
                + text(8, 38, "small", "start", subtitle)
                + chart.grid()
                + chart.lines()
                + "</svg>\n";
    }

    private String grid() {
        String values = IntStream.rangeClosed(0, GRID_LINES)
                .map(i -> most * i / GRID_LINES)
                .mapToObj(value -> format(
                                "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" class=\"grid\"/>%n",
                                LEFT, y(value), WIDTH - RIGHT, y(value))
                        + text(LEFT - 8, y(value) + 4, "small", "end", Integer.toString(value)))
                .collect(Collectors.joining());
        String times = IntStream.rangeClosed(0, seconds / 10)
                .mapToObj(ten -> text(x(ten * 10), HEIGHT - BOTTOM + 18, "small", "middle", ten * 10 + " s"))
                .collect(Collectors.joining());
        return values + times;
    }

    /** Labels stand beside the ends of their lines, and not on one another: from the lowest line up. */
    private String lines() {
        StringBuilder shapes = new StringBuilder();
        double notBelow = HEIGHT;
        List<Line> fromBelow = lines.stream()
                .sorted((one, other) -> Integer.compare(last(one), last(other)))
                .toList();
        for (Line line : fromBelow) {
            int[] values = line.perSecond();
            String points = IntStream.range(0, values.length)
                    .mapToObj(second -> format("%.1f,%.1f", x(second), y(values[second])))
                    .collect(Collectors.joining(" "));
            shapes.append(format("<polyline points=\"%s\" class=\"%s\"/>%n", points, line.style()));
            notBelow = Math.min(notBelow - LABEL_HEIGHT, y(last(line)) + 4);
            shapes.append(text(WIDTH - RIGHT + 8, notBelow, "label", "start", line.label()));
        }
        return shapes.toString();
    }

    private static int last(Line line) {
        return line.perSecond()[line.perSecond().length - 1];
    }

    private double x(int second) {
        return LEFT + second * (WIDTH - LEFT - RIGHT) / (double) seconds;
    }

    private double y(int perSecond) {
        return HEIGHT - BOTTOM - perSecond * (HEIGHT - TOP - BOTTOM) / (double) most;
    }

    private static String text(double x, double y, String style, String anchor, String text) {
        return format(
                "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\" text-anchor=\"%s\">%s</text>%n", x, y, style, anchor, text);
    }

    private static String format(String pattern, Object... arguments) {
        return String.format(Locale.ROOT, pattern, arguments).replace("\r", "");
    }
}
