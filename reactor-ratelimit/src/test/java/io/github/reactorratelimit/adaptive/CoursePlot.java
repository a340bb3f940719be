package io.github.reactorratelimit.adaptive;

import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;

/** Draws courses one below the other: what the downstream could bear, the limit, what was served and what was refused. */
final class CoursePlot {

    private static final double WIDTH = 760;
    private static final double LEFT = 46;
    private static final double RIGHT = 12;
    private static final double HEIGHT = 150;
    private static final double GAP = 66;
    private static final int STEPS_PER_SECOND = (int) (1_000 / Simulation.STEP.toMillis());
    private static final int GRID = 50;

    private static final String STYLE = """
            text { font: 12px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328 }
            .page { fill: #ffffff }
            .title { font-weight: 600 }
            .small { font-size: 11px; fill: #59636e }
            .grid { stroke: #8c959f; stroke-opacity: 0.25 }
            path { fill: none; stroke-width: 1.6 }
            .capacity { stroke: #8c959f; stroke-dasharray: 5 3 } .limit { stroke: #1a7f37 } .served { stroke: #4078c0 }
            .refused { stroke: #cf222e }
            @media (prefers-color-scheme: dark) {
              .page { fill: #0d1117 } text { fill: #e6edf3 } .small { fill: #9198a1 }
              .limit { stroke: #3fb950 } .served { stroke: #6ea8fe } .refused { stroke: #ff7b72 }
            }
            """;

    private final StringBuilder shapes = new StringBuilder();
    private final double most;
    private double bottom = 26;

    /** @param most per second that is shown */
    CoursePlot(double most) {
        this.most = most;
        add("<text class=\"small\" x=\"%.1f\" y=\"16\">calls per second over seconds</text>%n", LEFT);
        double x = 250;
        for (String line : List.of("capacity", "limit", "served", "refused")) {
            add("<path class=\"%s\" d=\"M%.1f 12h24\"/>%n", line, x);
            add("<text class=\"small\" x=\"%.1f\" y=\"16\">%s</text>%n", x + 30, line);
            x += 120;
        }
    }

    void add(String title, List<Simulation.Point> points) {
        double top = bottom + GAP - 24;
        bottom = top + HEIGHT;
        add("<text class=\"title\" x=\"%.1f\" y=\"%.1f\">%s</text>%n", LEFT, top - 4, title);
        for (int value = 0; value <= most; value += GRID) {
            add(
                    "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%3$.1f\" y2=\"%3$.1f\"/>%n",
                    LEFT, WIDTH - RIGHT, y(value));
            add(
                    "<text class=\"small\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%d</text>%n",
                    LEFT - 6, y(value) + 4, value);
        }
        int seconds = points.size() / STEPS_PER_SECOND;
        for (int second = 0; second <= seconds; second += 20) {
            add(
                    "<text class=\"small\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%d</text>%n",
                    x(second, seconds), bottom + 14, second);
        }
        line("capacity", points, second -> second.get(0).capacity());
        line(
                "refused",
                points,
                second -> second.stream().mapToLong(Simulation.Point::refused).sum());
        line(
                "served",
                points,
                second -> second.stream().mapToLong(Simulation.Point::served).sum());
        line(
                "limit",
                points,
                second -> second.stream()
                        .mapToLong(Simulation.Point::limit)
                        .average()
                        .orElse(0));
    }

    private void line(String style, List<Simulation.Point> points, ToDoubleFunction<List<Simulation.Point>> value) {
        int seconds = points.size() / STEPS_PER_SECOND;
        add("<path class=\"%s\" d=\"", style);
        for (int second = 0; second < seconds; second++) {
            double of = value.applyAsDouble(points.subList(second * STEPS_PER_SECOND, (second + 1) * STEPS_PER_SECOND));
            add("%s%.1f %.1f", second == 0 ? "M" : "L", x(second + 0.5, seconds), y(Math.min(most, of)));
        }
        add("\"/>%n");
    }

    String document() {
        return String.format(
                        Locale.ROOT,
                        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" role=\"img\">\n",
                        WIDTH,
                        bottom + 22,
                        WIDTH,
                        bottom + 22)
                + "<title>Adaptive limits follow a capacity of 100, 20 and 150 calls per second</title>\n<style>\n"
                + STYLE + "</style>\n<rect width=\"100%\" height=\"100%\" class=\"page\"/>\n" + shapes + "</svg>\n";
    }

    private void add(String pattern, Object... arguments) {
        shapes.append(String.format(Locale.ROOT, pattern.replace("%n", "\n"), arguments));
    }

    private double x(double second, int seconds) {
        return LEFT + second / seconds * (WIDTH - LEFT - RIGHT);
    }

    private double y(double value) {
        return bottom - value / most * HEIGHT;
    }
}
