package io.github.reactorratelimit.benchmarks;

/** How much a run does. */
public enum Form {
    /** One short round in this JVM: shows that it works, its figures mean nothing. */
    TINY(1, 1, 0, 10),
    /** Minutes. */
    QUICK(3, 2, 3, 300),
    /** An hour or more. */
    FULL(7, 5, 5, 1_000);

    private final int rounds;
    private final int iterations;
    private final int warmups;
    private final long iterationMillis;

    Form(int rounds, int iterations, int warmups, long iterationMillis) {
        this.rounds = rounds;
        this.iterations = iterations;
        this.warmups = warmups;
        this.iterationMillis = iterationMillis;
    }

    /** Rounds of each contender. */
    public int rounds() {
        return rounds;
    }

    /** Measured iterations of one round. */
    public int iterations() {
        return iterations;
    }

    /** Iterations before those that are measured. */
    public int warmups() {
        return warmups;
    }

    /** How long an iteration lasts. */
    public long iterationMillis() {
        return iterationMillis;
    }
}
