package io.github.reactorratelimit.benchmarks.report;

import java.util.Map;
import java.util.TreeMap;

/**
 * What one round of one contender gave.
 *
 * @param value in the group's unit
 * @param bytesPerOperation allocated by one operation; NaN if not measured
 * @param details further figures by name and unit, such as {@code "p99 ms"}; shown as columns of their own
 */
public record Sample(double value, double bytesPerOperation, Map<String, Double> details) {

    public Sample {
        details = Map.copyOf(details);
    }

    /** A value and nothing else. */
    public static Sample of(double value) {
        return new Sample(value, Double.NaN, Map.of());
    }

    /** A value and what it allocated. */
    public static Sample of(double value, double bytesPerOperation) {
        return new Sample(value, bytesPerOperation, Map.of());
    }

    /** The same with one more figure. */
    public Sample with(String name, double figure) {
        Map<String, Double> more = new TreeMap<>(details);
        more.put(name, figure);
        return new Sample(value, bytesPerOperation, more);
    }
}
