package io.github.reactorratelimit.documentation.marbles;

import io.github.reactorratelimit.documentation.marbles.Line.Mark;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * A scene as SVG: lines above, the operator in a box, lines below. Marks of one moment are stacked, so that each is at its
 * time; an end that comes with an element stands right behind it.
 */
final class Drawing {

    private static final int WIDTH = 760;
    private static final int LEFT = 120;
    private static final int RIGHT = 40;
    private static final int RADIUS = 11;
    private static final int STACKED = 17;
    private static final int GAP = 34;
    private static final int BOX = 34;
    private static final int SCALE = 26;
    private static final String TONES = "abcdefgh";

    private static final String STYLE = """
            <style>
              text { font: 12px ui-sans-serif, system-ui, sans-serif; fill: #1f2933; }
              .code { font: 12.5px ui-monospace, monospace; }
              .small { font-size: 10.5px; fill: #66727f; }
              .line { stroke: #8a96a3; stroke-width: 1.5; }
              .box { fill: #f2f5f8; stroke: #8a96a3; }
              .mark { stroke: #1f2933; stroke-width: 1; }
              .mark-text { font-weight: 600; font-size: 11px; fill: #10212b; text-anchor: middle; }
              .gone { fill: none; stroke: #8a96a3; stroke-dasharray: 3 2; }
              .end { stroke: #1f2933; stroke-width: 2.5; }
              .fail { stroke: #c4314b; stroke-width: 2.5; }
              .t0 { fill: #9fd3f0; } .t1 { fill: #f6c177; } .t2 { fill: #b5dba0; } .t3 { fill: #e3b5e8; }
              @media (prefers-color-scheme: dark) {
                text { fill: #dfe6ec; } .small { fill: #97a4b1; }
                .box { fill: #1d2730; stroke: #66727f; } .line { stroke: #66727f; }
                .mark { stroke: #0d1419; } .end { stroke: #dfe6ec; } .fail { stroke: #ff7389; }
              }
            </style>
            """;

    private final Scene scene;
    private final StringBuilder body = new StringBuilder();
    private int y = 8;

    private Drawing(Scene scene) {
        this.scene = scene;
    }

    static String of(Scene scene) {
        return new Drawing(scene).document();
    }

    private String document() {
        scene.above().forEach(this::line);
        box();
        scene.below().forEach(this::line);
        scale();
        String head =
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">\n"
                        .formatted(WIDTH, y, escaped(inWords()));
        return head + STYLE + body + "</svg>\n";
    }

    private void line(Line line) {
        int stack = highestStack(line.marks());
        y += GAP / 2 + RADIUS + (stack - 1) * STACKED;
        add("<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>", LEFT - 16, y + 4, escaped(line.name()));
        add("<path class=\"line\" d=\"M%d %dH%d\"/>", LEFT - 8, y, WIDTH - RIGHT + 14);
        Map<Long, Integer> placed = new HashMap<>();
        for (Mark mark : line.marks()) {
            int level = placed.merge(mark.atMillis(), 1, Integer::sum) - 1;
            boolean behind = level > 0 && mark.kind() == Line.Kind.COMPLETE;
            mark(mark, x(mark.atMillis()) + (behind ? RADIUS + 5 : 0), y - level * STACKED);
        }
        y += RADIUS + 6;
    }

    private static int highestStack(List<Mark> marks) {
        Map<Long, Integer> perMoment = new HashMap<>();
        marks.stream()
                .filter(mark -> mark.kind() != Line.Kind.COMPLETE)
                .forEach(mark -> perMoment.merge(mark.atMillis(), 1, Integer::sum));
        return perMoment.values().stream().mapToInt(Integer::intValue).max().orElse(1);
    }

    private void mark(Mark mark, double x, int middle) {
        switch (mark.kind()) {
            case ELEMENT -> circle("mark t" + tone(mark.label()), x, middle, mark.label());
            case DISCARDED -> circle("gone", x, middle, mark.label());
            case COMPLETE -> add("<path class=\"end\" d=\"M%s %dv%d\"/>", number(x), y - RADIUS, 2 * RADIUS);
            case ERROR, CANCEL -> {
                add("<path class=\"fail\" d=\"M%s %dl14 14m0 -14l-14 14\"/>", number(x - 7), middle - 7);
                add(
                        "<text class=\"small\" x=\"%s\" y=\"%d\">%s</text>",
                        number(x + 11), middle - 6, escaped(mark.label()));
            }
        }
    }

    private void circle(String style, double x, int middle, String label) {
        add("<circle class=\"%s\" cx=\"%s\" cy=\"%d\" r=\"%d\"/>", style, number(x), middle, RADIUS);
        add("<text class=\"mark-text\" x=\"%s\" y=\"%d\">%s</text>", number(x), middle + 4, escaped(label));
    }

    /** Elements of one key, told by the letter they begin with, have one colour. */
    private static int tone(String label) {
        return Math.max(TONES.indexOf(label.charAt(0)), 0) % 4;
    }

    private void box() {
        y += 12;
        add(
                "<rect class=\"box\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"5\"/>",
                LEFT - 8, y, WIDTH - LEFT - RIGHT + 22, BOX);
        add(
                "<text class=\"code\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>",
                (LEFT + WIDTH - RIGHT) / 2, y + 21, escaped(scene.operator()));
        y += BOX;
    }

    private void scale() {
        long step = scene.lengthMillis() <= 600 ? 100 : 200;
        for (long at = 0; at <= scene.lengthMillis(); at += step) {
            add(
                    "<text class=\"small\" x=\"%s\" y=\"%d\" text-anchor=\"middle\">%d ms</text>",
                    number(x(at)), y + 16, at);
        }
        y += SCALE;
    }

    private double x(long millis) {
        return LEFT + (double) millis / scene.lengthMillis() * (WIDTH - LEFT - RIGHT);
    }

    private String inWords() {
        StringBuilder words = new StringBuilder(scene.operator()).append(".");
        for (Line line : scene.below()) {
            words.append(" ").append(line.name()).append(":");
            line.marks()
                    .forEach(mark -> words.append(" ")
                            .append(mark.label().isEmpty() ? mark.kind().name().toLowerCase(Locale.ROOT) : mark.label())
                            .append(" at ")
                            .append(mark.atMillis())
                            .append(" ms;"));
        }
        return words.toString();
    }

    private void add(String format, Object... arguments) {
        body.append(String.format(Locale.ROOT, format, arguments)).append('\n');
    }

    private static String number(double value) {
        return String.format(Locale.ROOT, "%.1f", value);
    }

    private static String escaped(String text) {
        return text.replace("&", "&amp;")
                .replace("<", "&lt;")
                .replace(">", "&gt;")
                .replace("\"", "&quot;");
    }
}
