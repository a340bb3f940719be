package io.github.reactorratelimit.testing;

import java.util.concurrent.ThreadLocalRandom;

/** Seeds of random tests: printed, and given by {@code -Dratelimit.seed=} to run one again. */
public final class Seeds {

    private Seeds() {}

    /** The given seed, or else a new one. */
    public static long next() {
        Long given = Long.getLong("ratelimit.seed");
        long seed = given == null ? ThreadLocalRandom.current().nextLong() : given;
        System.out.println("ratelimit.seed=" + seed);
        return seed;
    }
}
