package io.github.reactorratelimit.testing;

import java.util.concurrent.ThreadLocalRandom;

/**
 * Seeds of random tests. The default build uses the same seed for a test in every run, so that a failure is caused by a change; {@code -Pfull} draws
 * a new one. Each seed is printed with the option that runs the test again with it.
 */
public final class Seeds {

    private static final boolean VARIED = Boolean.getBoolean("ratelimit.tests.full");

    /** From SplitMix64: spreads the names' hashes over all 64 bits. */
    private static final long SPREAD = 0x9E3779B97F4A7C15L;

    private Seeds() {}

    /** {@link #of(String)} for the only random test of a class. */
    public static long next() {
        return of("seed");
    }

    /**
     * The seed that {@code -Dratelimit.seed=} gives, else the one of this name, or with {@code -Pfull} a new one.
     *
     * @param test what the seed is printed for
     */
    public static long of(String test) {
        Long given = Long.getLong("ratelimit.seed");
        long seed = given != null ? given : VARIED ? ThreadLocalRandom.current().nextLong() : test.hashCode() * SPREAD;
        System.out.println(test + ": run again with -Dratelimit.seed=" + seed);
        return seed;
    }
}
