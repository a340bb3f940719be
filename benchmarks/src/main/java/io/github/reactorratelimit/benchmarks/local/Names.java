package io.github.reactorratelimit.benchmarks.local;

/** The contenders' names, the same in every group. */
final class Names {

    static final String OURS = "reactor-ratelimit";
    static final String OURS_GCRA = "reactor-ratelimit, GCRA";
    static final String OURS_SMALL = "reactor-ratelimit, burst of 10 000";
    static final String BUCKET4J = "Bucket4j";
    static final String BUCKET4J_NANOS = "Bucket4j, nanoseconds";
    static final String RESILIENCE4J = "Resilience4j";
    static final String GUAVA = "Guava";
    static final String FAILSAFE = "Failsafe, bursty";
    static final String IN_A_MAP = " in a CHM";
    static final String CLOCK = "clock";
    static final String CLOCK_CAS = "clock + CAS";
    static final String CLOCK_READ = "clock + volatile read";

    private Names() {}

    static IllegalArgumentException unknown(String contender) {
        return new IllegalArgumentException("unknown contender \"" + contender + '"');
    }
}
