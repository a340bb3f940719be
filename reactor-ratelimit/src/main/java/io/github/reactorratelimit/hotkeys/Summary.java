package io.github.reactorratelimit.hotkeys;

import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;

/**
 * The heaviest of a stream of hashes: Space-Saving, in buckets of {@value #WAYS}. A hash that is not in its
 * bucket replaces the lightest one there and starts with its count, which is stored as the error. So a count
 * is never too low, and at most its error too high. A hash without a cell was never counted more often than
 * the lightest of its bucket. Used by one thread at a time.
 */
final class Summary {

    private static final int WAYS = 8;
    private static final int COUNT = WAYS;
    private static final int ERROR = 2 * WAYS;
    private static final int STRIDE = 3 * WAYS;

    /** No hash; the one key in 2^64 with this hash is counted with another. */
    private static final long NONE = 0;

    private final int buckets;

    /** For each bucket its hashes, their counts and their errors: three cache lines. */
    private final long[] table;

    /** @param cells a power of two, at least {@value #WAYS} */
    Summary(int cells) {
        this.buckets = cells / WAYS;
        this.table = new long[buckets * STRIDE];
    }

    private Summary(Summary other) {
        this.buckets = other.buckets;
        this.table = other.table.clone();
    }

    Summary copy() {
        return new Summary(this);
    }

    boolean clear() {
        Arrays.fill(table, 0);
        return true;
    }

    void add(long hash, long weight) {
        long known = hash == NONE ? 1 : hash;
        int first = bucket(known);
        int lightest = first;
        for (int i = first; i < first + WAYS; i++) {
            if (table[i] == known) {
                table[i + COUNT] += weight;
                return;
            }
            if (table[i + COUNT] < table[lightest + COUNT]) {
                lightest = i;
            }
        }
        table[lightest] = known;
        table[lightest + ERROR] = table[lightest + COUNT];
        table[lightest + COUNT] += weight;
    }

    private int bucket(long hash) {
        return ((int) (hash >>> 32) & (buckets - 1)) * STRIDE;
    }

    /** The most that a hash without a cell here may have been counted. */
    private long mostUnseen(long hash) {
        int first = bucket(hash);
        long least = Long.MAX_VALUE;
        for (int i = first; i < first + WAYS; i++) {
            least = Math.min(least, table[i + COUNT]);
        }
        return least;
    }

    /** The bounds of one hash over several summaries. */
    private static final class Bounds {
        long atLeast;
        long atMost;

        /** The sum of {@link #mostUnseen} over the summaries where it has a cell. */
        long unseenWhereCounted;
    }

    /**
     * The heaviest of all summaries together.
     *
     * @param missed permits that were counted nowhere, and may belong to any key
     */
    static List<HotKey> heaviest(List<Summary> summaries, int most, long missed) {
        Map<Long, Bounds> all = new HashMap<>();
        for (Summary summary : summaries) {
            summary.addTo(all);
        }
        return all.entrySet().stream()
                .map(entry -> bounded(entry.getKey(), entry.getValue(), summaries, missed))
                .sorted((one, other) -> Long.compare(other.atLeast() + other.atMost(), one.atLeast() + one.atMost()))
                .limit(most)
                .toList();
    }

    private void addTo(Map<Long, Bounds> all) {
        for (int first = 0; first < table.length; first += STRIDE) {
            for (int i = first; i < first + WAYS; i++) {
                if (table[i] != NONE) {
                    Bounds bounds = all.computeIfAbsent(table[i], hash -> new Bounds());
                    bounds.atMost += table[i + COUNT];
                    bounds.atLeast += table[i + COUNT] - table[i + ERROR];
                    bounds.unseenWhereCounted += mostUnseen(table[i]);
                }
            }
        }
    }

    private static HotKey bounded(long hash, Bounds bounds, List<Summary> summaries, long missed) {
        long unseen = summaries.stream()
                        .mapToLong(summary -> summary.mostUnseen(hash))
                        .sum()
                - bounds.unseenWhereCounted;
        return new HotKey(HexFormat.of().toHexDigits(hash), bounds.atLeast, bounds.atMost + unseen + missed);
    }
}
