package io.github.reactorratelimit.benchmarks.local;

import java.util.Arrays;
import java.util.Collections;
import java.util.Random;

/**
 * Keys and the order in which they are asked for, the same for every contender: the seed is fixed. A draw is the very string
 * that entered the table, with its hash already known; who parses a key from each request pays for hash and comparison on
 * top, the same with any limiter.
 */
final class KeyDraws {

    private static final long SEED = 20_240_229;
    private static final int DRAWS = 1 << 21;

    private final String[] keys;
    private final String[] draws;

    private KeyDraws(String[] keys, String[] draws) {
        this.keys = keys;
        this.draws = draws;
    }

    static KeyDraws of(String distribution, int keys) {
        String[] all = keys(keys);
        Random random = new Random(SEED);
        int draws = Math.max(1, Math.min(DRAWS, Integer.highestOneBit(keys) * 16));
        return switch (distribution) {
            case "uniform" -> new KeyDraws(all, uniform(all, draws, random));
            case "zipf" -> new KeyDraws(all, zipf(all, draws, random));
            default -> throw new IllegalArgumentException("unknown distribution " + distribution);
        };
    }

    /** In no order that the heap would show. */
    static String[] keys(int count) {
        String[] keys = new String[count];
        for (int i = 0; i < count; i++) {
            keys[i] = "customer-" + i;
        }
        Collections.shuffle(Arrays.asList(keys), new Random(SEED));
        return keys;
    }

    String[] keys() {
        return keys;
    }

    String at(int index) {
        return draws[index & (draws.length - 1)];
    }

    private static String[] uniform(String[] keys, int count, Random random) {
        String[] draws = new String[count];
        for (int i = 0; i < count; i++) {
            draws[i] = keys[random.nextInt(keys.length)];
        }
        return draws;
    }

    /** The k-th key as often as 1/k says. */
    private static String[] zipf(String[] keys, int count, Random random) {
        double[] upTo = new double[keys.length];
        double sum = 0;
        for (int rank = 1; rank <= keys.length; rank++) {
            sum += 1.0 / rank;
            upTo[rank - 1] = sum;
        }
        String[] draws = new String[count];
        for (int i = 0; i < count; i++) {
            int found = Arrays.binarySearch(upTo, random.nextDouble() * sum);
            draws[i] = keys[Math.min(found < 0 ? -found - 1 : found, keys.length - 1)];
        }
        return draws;
    }
}
