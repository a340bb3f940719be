package io.github.reactorratelimit.algorithm;

/** The seed of a random test: {@code -Dratelimit.seed=} repeats a run. */
final class Seeds {

    private Seeds() {}

    static long of(String test) {
        long seed = Long.getLong("ratelimit.seed", System.nanoTime());
        System.out.println(test + ": -Dratelimit.seed=" + seed);
        return seed;
    }
}
