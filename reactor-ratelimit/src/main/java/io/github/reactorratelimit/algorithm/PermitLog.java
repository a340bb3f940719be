package io.github.reactorratelimit.algorithm;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Permits by the tick at which they were granted, oldest first; immutable. Adding copies only the
 * youngest chunk: the full ones are shared, and dropped as a whole when all in them has expired.
 */
final class PermitLog {

    static final PermitLog EMPTY = new PermitLog(new Chunk[0], Chunk.NONE, 0);

    private static final int CHUNK_ENTRIES = 64;

    private final Chunk[] full;
    private final Chunk tail;
    private final int total;

    private PermitLog(Chunk[] full, Chunk tail, int total) {
        this.full = full;
        this.tail = tail;
        this.total = total;
    }

    /** A log of one entry. */
    static PermitLog of(long time, int permits) {
        return new PermitLog(new Chunk[0], Chunk.NONE.plus(time, permits), permits);
    }

    boolean isEmpty() {
        return tail.isEmpty();
    }

    /** The youngest entry's time. */
    long last() {
        return tail.last();
    }

    /** Permits granted after {@code cutoff}. */
    int after(long cutoff) {
        int permits = total;
        for (int i = 0; i <= full.length; i++) {
            Chunk chunk = chunk(i);
            if (chunk.isEmpty() || chunk.first() > cutoff) {
                return permits;
            }
            permits -= chunk.upTo(cutoff);
        }
        return permits;
    }

    /** The time of the entry with which the permits granted after {@code cutoff}, oldest first, reach {@code permits}. */
    long timeOf(long permits, long cutoff) {
        long wanted = permits + total - after(cutoff);
        for (int i = 0; i < full.length; i++) {
            if (full[i].sum >= wanted) {
                return full[i].timeOf(wanted);
            }
            wanted -= full[i].sum;
        }
        return tail.timeOf(wanted);
    }

    /** With permits granted at {@code time}, not before {@link #last()}; without the chunks that expired by {@code cutoff}. */
    PermitLog plus(long time, int permits, long cutoff) {
        if (isEmpty() || last() <= cutoff) {
            return of(time, permits);
        }
        PermitLog live = dropUpTo(cutoff);
        int sum = live.total + permits;
        if (last() == time || tail.size() < CHUNK_ENTRIES) {
            return new PermitLog(live.full, tail.plus(time, permits), sum);
        }
        Chunk[] more = Arrays.copyOf(live.full, live.full.length + 1);
        more[live.full.length] = tail;
        return new PermitLog(more, Chunk.NONE.plus(time, permits), sum);
    }

    private PermitLog dropUpTo(long cutoff) {
        int expired = 0;
        int permits = 0;
        while (expired < full.length && full[expired].last() <= cutoff) {
            permits += full[expired].sum;
            expired++;
        }
        return expired == 0
                ? this
                : new PermitLog(Arrays.copyOfRange(full, expired, full.length), tail, total - permits);
    }

    /** Without up to {@code permits} of the entry at {@code time}, if there is one. */
    PermitLog minus(long time, int permits) {
        for (int i = full.length; i >= 0; i--) {
            Chunk chunk = chunk(i);
            int index = Arrays.binarySearch(chunk.times, time);
            if (index >= 0) {
                int taken = Math.min(permits, chunk.counts[index]);
                return replace(i, chunk.minus(index, taken), total - taken);
            }
        }
        return this;
    }

    private PermitLog replace(int index, Chunk chunk, int sum) {
        if (sum == 0) {
            return EMPTY;
        }
        List<Chunk> chunks = new ArrayList<>(Arrays.asList(full));
        chunks.add(tail);
        chunks.set(index, chunk);
        chunks.removeIf(Chunk::isEmpty);
        Chunk youngest = chunks.remove(chunks.size() - 1);
        return new PermitLog(chunks.toArray(Chunk[]::new), youngest, sum);
    }

    private Chunk chunk(int index) {
        return index < full.length ? full[index] : tail;
    }

    /** Entries with rising times; never changed once built. */
    private static final class Chunk {

        static final Chunk NONE = new Chunk(new long[0], new int[0], 0);

        final long[] times;
        final int[] counts;
        final int sum;

        Chunk(long[] times, int[] counts, int sum) {
            this.times = times;
            this.counts = counts;
            this.sum = sum;
        }

        int size() {
            return times.length;
        }

        boolean isEmpty() {
            return times.length == 0;
        }

        long first() {
            return times[0];
        }

        long last() {
            return times[times.length - 1];
        }

        Chunk plus(long time, int permits) {
            int size = size();
            if (size > 0 && last() == time) {
                return new Chunk(times, withCount(size - 1, counts[size - 1] + permits), sum + permits);
            }
            long[] moreTimes = Arrays.copyOf(times, size + 1);
            int[] moreCounts = Arrays.copyOf(counts, size + 1);
            moreTimes[size] = time;
            moreCounts[size] = permits;
            return new Chunk(moreTimes, moreCounts, sum + permits);
        }

        Chunk minus(int index, int permits) {
            if (permits < counts[index]) {
                return new Chunk(times, withCount(index, counts[index] - permits), sum - permits);
            }
            int rest = size() - 1 - index;
            long[] fewerTimes = Arrays.copyOf(times, size() - 1);
            int[] fewerCounts = Arrays.copyOf(counts, size() - 1);
            System.arraycopy(times, index + 1, fewerTimes, index, rest);
            System.arraycopy(counts, index + 1, fewerCounts, index, rest);
            return new Chunk(fewerTimes, fewerCounts, sum - permits);
        }

        private int[] withCount(int index, int count) {
            int[] changed = counts.clone();
            changed[index] = count;
            return changed;
        }

        int upTo(long cutoff) {
            if (last() <= cutoff) {
                return sum;
            }
            int permits = 0;
            for (int i = 0; times[i] <= cutoff; i++) {
                permits += counts[i];
            }
            return permits;
        }

        long timeOf(long permits) {
            long left = permits;
            int index = 0;
            while (left > counts[index]) {
                left -= counts[index];
                index++;
            }
            return times[index];
        }
    }
}
