package io.github.reactorratelimit.redis.harness;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** What all processes of a run printed, merged. */
final class HammerResult {

    private final Map<String, long[]> stamps = new HashMap<>();
    private final Map<String, Long> totals = new HashMap<>();
    private long fromMicros = Long.MIN_VALUE;
    private long toMicros = Long.MAX_VALUE;

    private HammerResult() {}

    static HammerResult of(List<List<String>> outputs) {
        HammerResult result = new HammerResult();
        Map<String, List<Long>> grants = new HashMap<>();
        outputs.forEach(lines -> lines.forEach(line -> result.read(line.split(" ", -1), grants)));
        grants.forEach((key, times) -> {
            long[] sorted = times.stream().mapToLong(Long::longValue).toArray();
            Arrays.sort(sorted);
            result.stamps.put(key, sorted);
        });
        return result;
    }

    private void read(String[] words, Map<String, List<Long>> grants) {
        switch (words[0]) {
            case "start" -> fromMicros = Math.max(fromMicros, Long.parseLong(words[1]));
            case "stop" -> toMicros = Math.min(toMicros, Long.parseLong(words[1]));
            case "grant" ->
                grants.computeIfAbsent(words[1] + " " + words[2], key -> new ArrayList<>())
                        .add(Long.parseLong(words[3]));
            default -> totals.merge(words[0], Long.parseLong(words[1]), Long::sum);
        }
    }

    /** When the last process began. */
    long fromMicros() {
        return fromMicros;
    }

    /** When the first process ended. */
    long toMicros() {
        return toMicros;
    }

    long total(String name) {
        return totals.getOrDefault(name, 0L);
    }

    /** All grants of a key, sorted. */
    long[] stamps(HammerRow row, String key) {
        return stamps.getOrDefault(row + " " + key, new long[0]);
    }
}
