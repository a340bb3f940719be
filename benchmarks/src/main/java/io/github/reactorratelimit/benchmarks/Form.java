package io.github.reactorratelimit.benchmarks;

/**
 * How much a run does. A benchmark with its own {@code @Measurement} follows only the number of rounds.
 */
enum Form {
    /** One very short iteration, for tests. */
    SMOKE(1, 0, 1, 10),
    /** Each contender once, briefly: shows that it runs; its numbers mean nothing. */
    TRY(1, 1, 1, 200),
    /** Minutes. */
    QUICK(3, 3, 2, 300),
    /** An hour or more. */
    FULL(7, 5, 5, 1_000);

    final int rounds;
    final int warmups;
    final int iterations;
    final long iterationMillis;

    Form(int rounds, int warmups, int iterations, long iterationMillis) {
        this.rounds = rounds;
        this.warmups = warmups;
        this.iterations = iterations;
        this.iterationMillis = iterationMillis;
    }
}
