package io.github.reactorratelimit.benchmarks.report;

import java.util.Comparator;

/** Which way a group's figures are better. */
public enum Better {
    /** Times and sizes. */
    LESS,
    /** Throughputs. */
    MORE;

    /** Best first. */
    public Comparator<Measurement> order() {
        Comparator<Measurement> ascending = Comparator.comparingDouble(Measurement::median);
        return this == LESS ? ascending : ascending.reversed();
    }

    boolean within(double value, double bound) {
        return this == LESS ? value <= bound : value >= bound;
    }

    String sign() {
        return this == LESS ? "≤" : "≥";
    }
}
