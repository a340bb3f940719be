package io.github.reactorratelimit.documentation.figures;

import java.time.Duration;

/** Rows of bars over one time axis: what passed points up, what was denied down, figures at the end. */
final class BarRows {

    private static final int LEFT = 190;
    private static final int RIGHT = 150;
    private static final int TALLEST = 44;
    private static final int LOWEST = 17;
    private static final int ROOM = 4;

    private final Sheet sheet = new Sheet();
    private final StringBuilder inWords = new StringBuilder();
    private final Duration length;
    private final Duration bin;
    private final double unit;
    private int y = 10;

    /**
     * @param bin the time that one bar covers
     * @param most that a bar shows
     */
    BarRows(Duration length, Duration bin, int most) {
        this.length = length;
        this.bin = bin;
        this.unit = (double) TALLEST / most;
    }

    int[] newBins() {
        return new int[(int) length.dividedBy(bin) + 1];
    }

    int binOf(Duration at) {
        return (int) Math.min(at.dividedBy(bin), length.dividedBy(bin));
    }

    BarRows arrivals(String name, int[] came, String... figures) {
        return row(name, "came", came, newBins(), figures);
    }

    BarRows row(String name, int[] passed, int[] denied, String... figures) {
        inWords.append(name).append(": ").append(String.join(", ", figures)).append(". ");
        return row(name, "passed", passed, denied, figures);
    }

    private BarRows row(String name, String style, int[] up, int[] down, String... figures) {
        y += Math.max(heightOf(up), LOWEST) + ROOM;
        sheet.text("code", LEFT - 14, y + 1, "end", name);
        sheet.add("<path class=\"line\" d=\"M%d %dH%s\"/>", LEFT - 4, y, Sheet.number(x(length) + 4));
        bars(style, up, -1);
        bars("denied", down, 1);
        figures(figures);
        y += Math.max(heightOf(down), LOWEST) + ROOM;
        return this;
    }

    String document(Duration step) {
        for (Duration at = Duration.ZERO; at.compareTo(length) <= 0; at = at.plus(step)) {
            sheet.text("small", x(at), y + 14, "middle", at.toSeconds() + " s");
        }
        return sheet.document(y + 22, inWords.toString().strip());
    }

    private void bars(String style, int[] perBin, int direction) {
        double width = x(bin) - x(Duration.ZERO) - 0.6;
        for (int i = 0; i < perBin.length; i++) {
            if (perBin[i] > 0) {
                double height = perBin[i] * unit;
                sheet.add(
                        "<rect class=\"%s\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"/>",
                        style,
                        Sheet.number(x(bin.multipliedBy(i))),
                        Sheet.number(direction < 0 ? y - height : y),
                        Sheet.number(width),
                        Sheet.number(height));
            }
        }
    }

    private void figures(String... lines) {
        double at = y - 6.0 * (lines.length - 1);
        for (String line : lines) {
            sheet.text("small", Sheet.WIDTH - RIGHT + 12, at, "start", line);
            at += 14;
        }
    }

    private int heightOf(int[] perBin) {
        int most = 0;
        for (int count : perBin) {
            most = Math.max(most, count);
        }
        return (int) Math.ceil(most * unit);
    }

    private double x(Duration at) {
        return LEFT + (double) at.toNanos() / length.toNanos() * (Sheet.WIDTH - LEFT - RIGHT);
    }
}
