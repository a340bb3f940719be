package io.github.reactorratelimit.webflux.key;

import java.util.concurrent.ThreadLocalRandom;

/** Seeds of random tests: printed, and given by {@code -Dratelimit.seed=} to run one again. */
final class Seeds {

    private Seeds() {}

    /**
     * The given seed, or else a new one.
     *
     * @param test what it is printed for
     */
    static long of(String test) {
        Long given = Long.getLong("ratelimit.seed");
        long seed = given == null ? ThreadLocalRandom.current().nextLong() : given;
        System.out.println(test + ": -Dratelimit.seed=" + seed);
        return seed;
    }
}
