package io.github.reactorratelimit.benchmarks.report;

import java.util.Locale;

/** Figures as people read them. */
final class Figures {

    private Figures() {}

    /** Three digits that count, thousands apart; a dash for what was not measured. */
    static String plain(double value) {
        if (Double.isNaN(value)) {
            return "–";
        }
        double size = Math.abs(value);
        if (size >= 1_000) {
            return String.format(Locale.ROOT, "%,.0f", value).replace(',', ' ');
        }
        if (size >= 100 || value == Math.rint(value)) {
            return String.format(Locale.ROOT, "%.0f", value);
        }
        return String.format(Locale.ROOT, size >= 10 ? "%.1f" : "%.2f", value);
    }

    static String ratio(double value) {
        return Double.isNaN(value) ? "–" : String.format(Locale.ROOT, value < 0.095 ? "%.3f" : "%.2f", value);
    }
}
