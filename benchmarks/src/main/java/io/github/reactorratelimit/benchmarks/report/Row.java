package io.github.reactorratelimit.benchmarks.report;

import io.github.reactorratelimit.benchmarks.Contender;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.StreamSupport;
import tools.jackson.databind.JsonNode;

/**
 * One contender with one jar, read from JMH's JSON.
 *
 * @param label its name in the table
 * @param kind which side it is on
 * @param jar which jar of the core was measured
 * @param unit of the value
 * @param median over the rounds
 * @param low of all rounds
 * @param high of all rounds
 * @param details further figures by name: median over the rounds
 */
record Row(
        String label,
        Contender.Kind kind,
        String jar,
        String unit,
        double median,
        double low,
        double high,
        Map<String, Double> details) {

    static final String BYTES = "B/op";
    private static final String ALLOCATED = "gc.alloc.rate.norm";

    static Row of(Contender contender, JsonNode result) {
        JsonNode primary = result.get("primaryMetric");
        double[] rounds = rounds(primary);
        Map<String, Double> details = new TreeMap<>();
        result.get("secondaryMetrics").forEachEntry((name, metric) -> {
            if (name.endsWith(ALLOCATED)) {
                details.put(BYTES, Math.rint(median(rounds(metric))));
            } else if (!name.contains("gc.")) {
                details.put(words(name), median(rounds(metric)));
            }
        });
        return new Row(
                contender.label(),
                contender.kind(),
                result.get("params").get("jar").asString(),
                primary.get("scoreUnit").asString(),
                median(rounds),
                rounds[0],
                rounds[rounds.length - 1],
                details);
    }

    boolean isMoreBetter() {
        return unit.startsWith("ops");
    }

    /** The mean of each round, sorted. */
    private static double[] rounds(JsonNode metric) {
        return StreamSupport.stream(metric.get("rawData").spliterator(), false)
                .mapToDouble(round -> StreamSupport.stream(round.spliterator(), false)
                        .mapToDouble(JsonNode::asDouble)
                        .average()
                        .orElse(Double.NaN))
                .sorted()
                .toArray();
    }

    static double median(double[] sorted) {
        int n = sorted.length;
        return n == 0 ? Double.NaN : (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
    }

    private static String words(String name) {
        return String.join(" ", Arrays.asList(name.split("(?=[A-Z])"))).toLowerCase(java.util.Locale.ROOT);
    }
}
