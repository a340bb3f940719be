package io.github.reactorratelimit.examples.replay;

import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Counts keys in bounded memory. Exact up to the capacity; beyond that, as Misra and Gries did it, all counts are
 * lowered by their median and those that reach zero make room: a count is then too low by at most {@link #error()}.
 */
final class FrequentKeys {

    private final int capacity;
    private final Map<String, long[]> counts = new HashMap<>();
    private long error;

    FrequentKeys(int capacity) {
        this.capacity = capacity;
    }

    /** A key, and how often it was seen at least. */
    record Count(String key, long atLeast) {}

    void add(String key) {
        long[] count = counts.get(key);
        if (count != null) {
            count[0]++;
            return;
        }
        if (counts.size() == capacity) {
            makeRoom();
        }
        counts.put(key, new long[] {1});
    }

    private void makeRoom() {
        long[] sorted =
                counts.values().stream().mapToLong(count -> count[0]).sorted().toArray();
        long median = sorted[sorted.length / 2];
        counts.values().removeIf(count -> (count[0] -= median) <= 0);
        error += median;
    }

    /** By how much counts may be too low. */
    long error() {
        return error;
    }

    int size() {
        return counts.size();
    }

    long atLeast(String key) {
        long[] count = counts.get(key);
        return count == null ? 0 : count[0];
    }

    /** The keys seen most often, the most frequent first. */
    List<Count> top(int n) {
        return counts.entrySet().stream()
                .map(entry -> new Count(entry.getKey(), entry.getValue()[0]))
                .sorted(Comparator.comparingLong(Count::atLeast).reversed().thenComparing(Count::key))
                .limit(n)
                .toList();
    }
}
