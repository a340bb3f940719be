package io.github.reactorratelimit.benchmarks.report;

import java.util.Locale;

/**
 * A small writer of SVG: shapes with a style class each, colours for light and dark. It has a background of its own, because
 * a page may be dark while the system that picks the colours is light.
 */
final class Svg {

    private static final String STYLE = """
            text { font: 13px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328 }
            .page { fill: #ffffff }
            .title { font-weight: 600; font-size: 15px }
            .small { font-size: 11px; fill: #59636e }
            .axis { stroke: #59636e; stroke-width: 1 }
            .grid { stroke: #8c959f; stroke-opacity: 0.25; stroke-width: 1 }
            .range { stroke: #1f2328; stroke-width: 1.5; fill: none }
            .cut { stroke: #ffffff; stroke-width: 3; fill: none }
            .ours { fill: #1a7f37 } .peer { fill: #4078c0 } .floor { fill: #8c959f }
            .line { fill: none; stroke-width: 2 }
            .line.ours { stroke: #1a7f37 } .line.peer { stroke: #4078c0 } .line.floor { stroke: #8c959f }
            @media (prefers-color-scheme: dark) {
              .page { fill: #0d1117 }
              text { fill: #e6edf3 } .small { fill: #9198a1 } .axis { stroke: #9198a1 } .range { stroke: #e6edf3 }
              .cut { stroke: #0d1117 }
              .ours { fill: #3fb950 } .peer { fill: #6ea8fe } .floor { fill: #6e7681 }
              .line { fill: none }
              .line.ours { stroke: #3fb950 } .line.peer { stroke: #6ea8fe } .line.floor { stroke: #6e7681 }
            }
            """;

    private final StringBuilder shapes = new StringBuilder();
    private final double width;
    private final double height;
    private final String title;

    Svg(double width, double height, String title) {
        this.width = width;
        this.height = height;
        this.title = title;
    }

    Svg text(double x, double y, String style, String anchor, String text) {
        shapes.append(format(
                "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\" text-anchor=\"%s\">%s</text>%n",
                x, y, style, anchor, escaped(text)));
        return this;
    }

    Svg rectangle(double x, double y, double width, double height, String style) {
        shapes.append(format(
                "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" class=\"%s\" rx=\"2\"/>%n",
                x, y, width, height, style));
        return this;
    }

    Svg line(double x1, double y1, double x2, double y2, String style) {
        shapes.append(format(
                "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"%s\"/>%n", x1, y1, x2, y2, style));
        return this;
    }

    Svg circle(double x, double y, double radius, String style) {
        shapes.append(format("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" class=\"%s\"/>%n", x, y, radius, style));
        return this;
    }

    String document() {
        return format(
                        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\""
                                + " height=\"%.0f\" role=\"img\">%n<title>%s</title>%n",
                        width, height, width, height, escaped(title))
                + "<style>\n" + STYLE + "</style>\n<rect width=\"100%\" height=\"100%\" class=\"page\"/>\n" + shapes
                + "</svg>\n";
    }

    private static String format(String pattern, Object... arguments) {
        return String.format(Locale.ROOT, pattern, arguments).replace("\r", "");
    }

    private static String escaped(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;");
    }
}
