package io.github.reactorratelimit.adaptive;

import static io.github.reactorratelimit.documentation.figures.Sheet.number;

import io.github.reactorratelimit.documentation.figures.Sheet;
import java.util.List;
import java.util.function.ToDoubleFunction;

/** Draws courses one below the other: what the downstream could bear, the limit, what was served and what was refused. */
final class CoursePlot {

    private static final double LEFT = 46;
    private static final double RIGHT = 12;
    private static final double HEIGHT = 150;
    private static final double GAP = 66;
    private static final int STEPS_PER_SECOND = (int) (1_000 / Simulation.STEP.toMillis());
    private static final int GRID = 50;

    private static final String STYLE = """
              path { fill: none; stroke-width: 1.6; }
              .title { font-weight: 600; }
              .grid { stroke: #8a96a3; stroke-opacity: 0.25; }
              .capacity { stroke: #8a96a3; stroke-dasharray: 5 3; } .limit { stroke: #1a7f37; }
              .served { stroke: #2f8fc4; } .refused { stroke: #c4314b; }
              @media (prefers-color-scheme: dark) {
                .limit { stroke: #3fb950; } .served { stroke: #5db4e4; } .refused { stroke: #ff7389; }
              }
            """;

    private final Sheet sheet = new Sheet(STYLE);
    private final double most;
    private double bottom = 26;

    /** @param most per second that is shown */
    CoursePlot(double most) {
        this.most = most;
        sheet.text("small", LEFT, 16, "start", "calls per second over seconds");
        double x = 250;
        for (String line : List.of("capacity", "limit", "served", "refused")) {
            sheet.add("<path class=\"%s\" d=\"M%s 12h24\"/>", line, number(x));
            sheet.text("small", x + 30, 16, "start", line);
            x += 120;
        }
    }

    void add(String title, List<Simulation.Point> points) {
        double top = bottom + GAP - 24;
        bottom = top + HEIGHT;
        sheet.text("title", LEFT, top - 4, "start", title);
        axes(points.size() / STEPS_PER_SECOND);
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

    private void axes(int seconds) {
        for (int value = 0; value <= most; value += GRID) {
            sheet.add(
                    "<path class=\"grid\" d=\"M%s %sH%s\"/>",
                    number(LEFT), number(y(value)), number(Sheet.WIDTH - RIGHT));
            sheet.text("small", LEFT - 6, y(value) + 4, "end", Integer.toString(value));
        }
        for (int second = 0; second <= seconds; second += 20) {
            sheet.text("small", x(second, seconds), bottom + 14, "middle", Integer.toString(second));
        }
    }

    private void line(String style, List<Simulation.Point> points, ToDoubleFunction<List<Simulation.Point>> value) {
        int seconds = points.size() / STEPS_PER_SECOND;
        StringBuilder way = new StringBuilder();
        for (int second = 0; second < seconds; second++) {
            double of = value.applyAsDouble(points.subList(second * STEPS_PER_SECOND, (second + 1) * STEPS_PER_SECOND));
            way.append(second == 0 ? 'M' : 'L')
                    .append(number(x(second + 0.5, seconds)))
                    .append(' ')
                    .append(number(y(Math.min(most, of))));
        }
        sheet.add("<path class=\"%s\" d=\"%s\"/>", style, way);
    }

    String document() {
        return sheet.document(
                (int) Math.ceil(bottom + 22), "Adaptive limits follow a capacity of 100, 20 and 150 calls per second");
    }

    private double x(double second, int seconds) {
        return LEFT + second / seconds * (Sheet.WIDTH - LEFT - RIGHT);
    }

    private double y(double value) {
        return bottom - value / most * HEIGHT;
    }
}
