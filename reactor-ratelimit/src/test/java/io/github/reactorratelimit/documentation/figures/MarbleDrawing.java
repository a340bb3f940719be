package io.github.reactorratelimit.documentation.figures;

import io.github.reactorratelimit.documentation.figures.Line.Mark;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * A scene as SVG: lines above, the operator in a box, lines below. Marks of one moment are stacked, so that each is at its
 * time; an end that comes with an element stands right behind it.
 */
final class MarbleDrawing {

    private static final int WIDTH = Sheet.WIDTH;
    private static final int LEFT = 120;
    private static final int RIGHT = 40;
    private static final int RADIUS = 11;
    private static final int STACKED = 17;
    private static final int GAP = 34;
    private static final int BOX = 34;
    private static final int SCALE = 26;
    private static final String TONES = "abcdefgh";

    private final Scene scene;
    private final Sheet sheet = new Sheet();
    private int y = 8;

    private MarbleDrawing(Scene scene) {
        this.scene = scene;
    }

    static String of(Scene scene) {
        return new MarbleDrawing(scene).document();
    }

    private String document() {
        scene.above().forEach(this::line);
        box();
        scene.below().forEach(this::line);
        scale();
        return sheet.document(y, inWords());
    }

    private void line(Line line) {
        int stack = highestStack(line.marks());
        y += GAP / 2 + RADIUS + (stack - 1) * STACKED;
        sheet.add(
                "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>", LEFT - 16, y + 4, Sheet.escaped(line.name()));
        sheet.add("<path class=\"line\" d=\"M%d %dH%d\"/>", LEFT - 8, y, WIDTH - RIGHT + 14);
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
            case COMPLETE ->
                sheet.add("<path class=\"end\" d=\"M%s %dv%d\"/>", Sheet.number(x), y - RADIUS, 2 * RADIUS);
            case ERROR, CANCEL -> {
                sheet.add("<path class=\"fail\" d=\"M%s %dl14 14m0 -14l-14 14\"/>", Sheet.number(x - 7), middle - 7);
                sheet.add(
                        "<text class=\"small\" x=\"%s\" y=\"%d\">%s</text>",
                        Sheet.number(x + 11), middle - 6, Sheet.escaped(mark.label()));
            }
        }
    }

    private void circle(String style, double x, int middle, String label) {
        sheet.add("<circle class=\"%s\" cx=\"%s\" cy=\"%d\" r=\"%d\"/>", style, Sheet.number(x), middle, RADIUS);
        sheet.add(
                "<text class=\"mark-text\" x=\"%s\" y=\"%d\">%s</text>",
                Sheet.number(x), middle + 4, Sheet.escaped(label));
    }

    /** Elements of one key, told by the letter they begin with, have one colour. */
    private static int tone(String label) {
        return Math.max(TONES.indexOf(label.charAt(0)), 0) % 4;
    }

    private void box() {
        y += 12;
        sheet.add(
                "<rect class=\"box\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"5\"/>",
                LEFT - 8, y, WIDTH - LEFT - RIGHT + 22, BOX);
        sheet.add(
                "<text class=\"code\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>",
                (LEFT + WIDTH - RIGHT) / 2, y + 21, Sheet.escaped(scene.operator()));
        y += BOX;
    }

    private void scale() {
        long step = scene.lengthMillis() <= 600 ? 100 : 200;
        for (long at = 0; at <= scene.lengthMillis(); at += step) {
            sheet.add(
                    "<text class=\"small\" x=\"%s\" y=\"%d\" text-anchor=\"middle\">%d ms</text>",
                    Sheet.number(x(at)), y + 16, at);
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
}
