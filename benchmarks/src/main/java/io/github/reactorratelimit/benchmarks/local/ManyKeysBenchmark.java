package io.github.reactorratelimit.benchmarks.local;

import io.github.reactorratelimit.benchmarks.ComparedBenchmark;
import io.github.reactorratelimit.benchmarks.local.LocalContender.Decider;
import java.util.Arrays;
import java.util.Collections;
import java.util.Random;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.infra.ThreadParams;

/**
 * An allowed decision about one of many keys, drawn before the run from a fixed seed. A draw is the string
 * that entered the table, with its hash known; a request that parses its key pays for the hash too, with any
 * limiter.
 */
@Fork(
        value = 1,
        jvmArgs = {"-Xms3g", "-Xmx3g"})
public class ManyKeysBenchmark extends ComparedBenchmark {

    private static final long SEED = 20_240_229;
    private static final int MOST_DRAWS = 1 << 21;

    /** How often a key is used. */
    public enum Distribution {
        /** All alike. */
        UNIFORM,
        /** The k-th key as often as 1/k. */
        ZIPF
    }

    @Param
    public LocalContender contender = LocalContender.TOKEN_BUCKET;

    @Param("UNIFORM")
    public Distribution distribution = Distribution.UNIFORM;

    @Param("1000")
    public int keys;

    private Decider decider = (key, permits) -> false;
    private String[] draws = {};

    /** Where a thread is in the draws. */
    @State(Scope.Thread)
    public static class Cursor {

        private static final int APART = 0x9E3779B1;

        private int next;
        private long denied;

        /** Starts apart from the other threads. */
        @Setup
        public void place(ThreadParams thread) {
            next = thread.getThreadIndex() * APART;
        }

        /** All were allowed. */
        @TearDown
        public void check() {
            if (denied > 0) {
                throw new IllegalStateException(denied + " requests were denied");
            }
        }
    }

    /** Enters every key. */
    @Setup
    public void open() {
        String[] all = keys(keys);
        Random random = new Random(SEED);
        int count = Math.min(MOST_DRAWS, Integer.highestOneBit(keys) * 16);
        draws = distribution == Distribution.UNIFORM ? uniform(all, count, random) : zipf(all, count, random);
        decider = contender.open(Limit.PER_SECOND, keys);
        for (String key : all) {
            decider.tryAcquire(key, 1);
        }
    }

    /** A decision. */
    @Benchmark
    public boolean decide(Cursor cursor) {
        boolean allowed = decider.tryAcquire(draws[cursor.next++ & draws.length - 1], 1);
        if (!allowed) {
            cursor.denied++;
        }
        return allowed;
    }

    /** Keys in an order that differs from their order on the heap. */
    static String[] keys(int count) {
        String[] keys = new String[count];
        Arrays.setAll(keys, number -> "customer-" + number);
        Collections.shuffle(Arrays.asList(keys), new Random(SEED));
        return keys;
    }

    private static String[] uniform(String[] keys, int count, Random random) {
        String[] draws = new String[count];
        Arrays.setAll(draws, number -> keys[random.nextInt(keys.length)]);
        return draws;
    }

    private static String[] zipf(String[] keys, int count, Random random) {
        double[] upTo = new double[keys.length];
        double sum = 0;
        for (int rank = 1; rank <= keys.length; rank++) {
            sum += 1.0 / rank;
            upTo[rank - 1] = sum;
        }
        double total = sum;
        String[] draws = new String[count];
        Arrays.setAll(draws, number -> {
            int found = Arrays.binarySearch(upTo, random.nextDouble() * total);
            return keys[Math.min(found < 0 ? -found - 1 : found, keys.length - 1)];
        });
        return draws;
    }
}
