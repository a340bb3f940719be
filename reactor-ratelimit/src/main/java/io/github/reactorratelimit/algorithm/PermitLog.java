package io.github.reactorratelimit.algorithm;

import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.LongStream;

/**
 * Permits by the tick at which they were granted, oldest first. A log never changes: adding and removing
 * yield another one. Entries that have expired when permits are added are gone for good, also if those
 * permits are refunded and the clock goes back. Twin of sliding_log.lua: change both, or neither.
 *
 * <p>Logs that follow each other share their arrays, and each reads only the entries that it knows. So adding
 * copies only if the arrays are full, or if another log has taken the next place in them.
 *
 * @param entries the arrays
 * @param from the first entry that has not expired
 * @param to the end of the entries
 * @param total all permits since the arrays began; may wrap, like the sums before each entry: only
 *     differences count
 */
record PermitLog(Entries entries, int from, int to, int total) {

    static final PermitLog EMPTY = new PermitLog(new Entries(0), 0, 0, 0);

    private static final int SPARE = 8;

    boolean isEmpty() {
        return from == to;
    }

    /** The youngest entry's time. */
    long last() {
        return entries.times[to - 1];
    }

    /** Permits granted after {@code cutoff}. */
    int after(long cutoff) {
        return total - before(firstAfter(cutoff));
    }

    /**
     * The time of the entry with which the permits granted after {@code cutoff}, oldest first, reach {@code
     * permits}.
     */
    long timeOf(long permits, long cutoff) {
        int low = firstAfter(cutoff);
        int first = before(low);
        int high = to;
        while (high - low > 1) {
            int middle = (low + high) >>> 1;
            if (before(middle) - first < permits) {
                low = middle;
            } else {
                high = middle;
            }
        }
        return entries.times[low];
    }

    /**
     * With permits granted at {@code time}, not before {@link #last()}; without entries that expired by
     * {@code cutoff}.
     */
    PermitLog plus(long time, int permits, long cutoff) {
        int live = firstAfter(cutoff);
        if (live < to && last() == time) {
            return new PermitLog(entries, live, to, total + permits);
        }
        if (!entries.claim(to)) {
            return copy(live, to, 0).plus(time, permits, cutoff);
        }
        entries.times[to] = time;
        entries.before[to] = total;
        return new PermitLog(entries, live, to + 1, total + permits);
    }

    /** Without up to {@code permits} of the entry at {@code time}, if there is one. */
    PermitLog minus(long time, int permits) {
        int index = Arrays.binarySearch(entries.times, from, to, time);
        return index < 0 ? this : copy(from, index, Math.min(permits, count(index)));
    }

    /**
     * The entries from {@code first} on in other arrays, {@code less} permits taken from the one at {@code
     * index}.
     */
    private PermitLog copy(int first, int index, int less) {
        int most = to - first;
        Entries copied = new Entries(most + most / 2 + SPARE);
        int size = 0;
        int sum = 0;
        for (int i = first; i < to; i++) {
            int count = count(i) - (i == index ? less : 0);
            if (count > 0) {
                copied.times[size] = entries.times[i];
                copied.before[size++] = sum;
                sum += count;
            }
        }
        copied.claimed.set(size);
        return less > 0 && sum == 0 ? EMPTY : new PermitLog(copied, 0, size, sum);
    }

    /** Time and permits of each entry, oldest first. */
    long[] toLongs() {
        LongStream.Builder longs = LongStream.builder();
        for (int i = from; i < to; i++) {
            longs.add(entries.times[i]).add(count(i));
        }
        return longs.build().toArray();
    }

    static PermitLog ofLongs(long[] longs) {
        PermitLog log = EMPTY;
        for (int i = 0; i + 1 < longs.length; i += 2) {
            log = log.plus(longs[i], Math.toIntExact(longs[i + 1]), Long.MIN_VALUE);
        }
        return log;
    }

    private int firstAfter(long cutoff) {
        int low = from;
        int high = to;
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (entries.times[middle] <= cutoff) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }

    private int count(int index) {
        return before(index + 1) - before(index);
    }

    private int before(int index) {
        return index == to ? total : entries.before[index];
    }

    /**
     * Arrays that several logs share. A log may write a place only if it has claimed it, and no log writes it
     * again.
     */
    static final class Entries {

        final long[] times;
        final int[] before;
        final AtomicInteger claimed = new AtomicInteger();

        Entries(int capacity) {
            this.times = new long[capacity];
            this.before = new int[capacity];
        }

        /** False if the arrays end before this place, or if it is taken. */
        boolean claim(int place) {
            return place < times.length && claimed.compareAndSet(place, place + 1);
        }
    }
}
