package io.github.reactorratelimit.documentation.figures;

import java.util.Locale;

/** An SVG document that grows downwards, for light and dark pages. */
public final class Sheet {

    public static final int WIDTH = 760;

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
              .came { fill: #b3bdc7; } .passed { fill: #2f8fc4; } .denied { fill: #c4314b; }
              @media (prefers-color-scheme: dark) {
                text { fill: #dfe6ec; } .small { fill: #97a4b1; }
                .box { fill: #1d2730; stroke: #66727f; } .line { stroke: #66727f; }
                .mark { stroke: #0d1419; } .end { stroke: #dfe6ec; } .fail { stroke: #ff7389; }
                .came { fill: #6c7884; } .passed { fill: #5db4e4; } .denied { fill: #ff7389; }
              }
            </style>
            """;

    private final String style;
    private final StringBuilder body = new StringBuilder();

    Sheet() {
        this("");
    }

    /** @param style of what only this drawing has */
    public Sheet(String style) {
        this.style = style;
    }

    /** @param format with {@code %s} and {@code %d} only: numbers come from {@link #number} */
    public void add(String format, Object... arguments) {
        body.append(String.format(Locale.ROOT, format, arguments)).append('\n');
    }

    public void text(String style, double x, double y, String anchor, String text) {
        add(
                "<text class=\"%s\" x=\"%s\" y=\"%s\" text-anchor=\"%s\">%s</text>",
                style, number(x), number(y), anchor, escaped(text));
    }

    public static String number(double value) {
        return String.format(Locale.ROOT, "%.1f", value);
    }

    static String escaped(String text) {
        return text.replace("&", "&amp;")
                .replace("<", "&lt;")
                .replace(">", "&gt;")
                .replace("\"", "&quot;");
    }

    /** @param inWords what it shows, for those who cannot see it */
    public String document(int height, String inWords) {
        return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">%n"
                        .formatted(WIDTH, height, escaped(inWords))
                        .replace("\r", "")
                + STYLE
                + (style.isEmpty() ? "" : "<style>\n" + style + "</style>\n")
                + body
                + "</svg>\n";
    }
}
