package io.github.reactorratelimit.algorithm;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;

/**
 * Permits by the tick at which they were granted, oldest first; immutable. Adding copies only the
 * youngest chunk: the full ones are shared. What has expired when permits are added is gone for good, also
 * if those are given back and the clock goes back: so what a log holds never depends on its chunks. Twin
 * of sliding_log.lua: change both, or neither.
 */
final class PermitLog {

    private static final Chunk[] NO_CHUNKS = new Chunk[0];

    static final PermitLog EMPTY = new PermitLog(NO_CHUNKS, Chunk.NONE, 0);

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
        return new PermitLog(NO_CHUNKS, Chunk.NONE.plus(time, permits), permits);
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

    /** With permits granted at {@code time}, not before {@link #last()}; without what expired by {@code cutoff}. */
    PermitLog plus(long time, int permits, long cutoff) {
        if (isEmpty() || last() <= cutoff) {
            return of(time, permits);
        }
        PermitLog live = dropUpTo(cutoff);
        int sum = live.total + permits;
        if (last() == time || live.tail.size() < CHUNK_ENTRIES) {
            return new PermitLog(live.full, live.tail.plus(time, permits), sum);
        }
        Chunk[] more = Arrays.copyOf(live.full, live.full.length + 1);
        more[live.full.length] = live.tail;
        return new PermitLog(more, Chunk.NONE.plus(time, permits), sum);
    }

    /** Only where {@link #last()} lies after {@code cutoff}. */
    private PermitLog dropUpTo(long cutoff) {
        int expired = 0;
        while (expired < full.length && full[expired].last() <= cutoff) {
            expired++;
        }
        Chunk oldest = chunk(expired);
        Chunk live = oldest.after(cutoff);
        if (expired == 0 && live == oldest) {
            return this;
        }
        int left = after(cutoff);
        if (expired == full.length) {
            return new PermitLog(NO_CHUNKS, live, left);
        }
        Chunk[] rest = Arrays.copyOfRange(full, expired, full.length);
        rest[0] = live;
        return new PermitLog(rest, tail, left);
    }

    /** Without up to {@code permits} of the entry at {@code time}, if there is one. */
    PermitLog minus(long time, int permits) {
        for (int i = full.length; i >= 0; i--) {
            Chunk chunk = chunk(i);
            int index = Arrays.binarySearch(chunk.times, chunk.from, chunk.times.length, time);
            if (index >= 0) {
                int taken = Math.min(permits, chunk.counts[index]);
                return replace(i, chunk.minus(index, taken), total - taken);
            }
        }
        return this;
    }

    /** Time and permits of each entry, oldest first; without those that have expired. */
    long[] toLongs() {
        LongStream.Builder longs = LongStream.builder();
        for (int i = 0; i <= full.length; i++) {
            Chunk chunk = chunk(i);
            for (int entry = chunk.from; entry < chunk.times.length; entry++) {
                longs.add(chunk.times[entry]).add(chunk.counts[entry]);
            }
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

    /** Entries with rising times; never changed once built. Those before {@code from} have expired. */
    private static final class Chunk {

        static final Chunk NONE = new Chunk(new long[0], new int[0], 0, 0);

        final long[] times;
        final int[] counts;
        final int from;
        final int sum;

        Chunk(long[] times, int[] counts, int from, int sum) {
            this.times = times;
            this.counts = counts;
            this.from = from;
            this.sum = sum;
        }

        int size() {
            return times.length - from;
        }

        boolean isEmpty() {
            return size() == 0;
        }

        long first() {
            return times[from];
        }

        long last() {
            return times[times.length - 1];
        }

        Chunk plus(long time, int permits) {
            if (!isEmpty() && last() == time) {
                int youngest = times.length - 1;
                return new Chunk(times, withCount(youngest, counts[youngest] + permits), from, sum + permits);
            }
            long[] moreTimes = Arrays.copyOfRange(times, from, times.length + 1);
            int[] moreCounts = Arrays.copyOfRange(counts, from, counts.length + 1);
            moreTimes[size()] = time;
            moreCounts[size()] = permits;
            return new Chunk(moreTimes, moreCounts, 0, sum + permits);
        }

        Chunk minus(int index, int permits) {
            if (permits < counts[index]) {
                return new Chunk(times, withCount(index, counts[index] - permits), from, sum - permits);
            }
            int rest = times.length - 1 - index;
            long[] fewerTimes = Arrays.copyOf(times, times.length - 1);
            int[] fewerCounts = Arrays.copyOf(counts, counts.length - 1);
            System.arraycopy(times, index + 1, fewerTimes, index, rest);
            System.arraycopy(counts, index + 1, fewerCounts, index, rest);
            return new Chunk(fewerTimes, fewerCounts, from, sum - permits);
        }

        private int[] withCount(int index, int count) {
            int[] changed = counts.clone();
            changed[index] = count;
            return changed;
        }

        /** Shares the entries. */
        Chunk after(long cutoff) {
            int index = from;
            int left = sum;
            while (index < times.length && times[index] <= cutoff) {
                left -= counts[index];
                index++;
            }
            return index == from ? this : new Chunk(times, counts, index, left);
        }

        int upTo(long cutoff) {
            if (last() <= cutoff) {
                return sum;
            }
            int permits = 0;
            for (int i = from; times[i] <= cutoff; i++) {
                permits += counts[i];
            }
            return permits;
        }

        long timeOf(long permits) {
            long left = permits;
            int index = from;
            while (left > counts[index]) {
                left -= counts[index];
                index++;
            }
            return times[index];
        }
    }
}
