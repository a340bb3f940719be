package io.github.reactorratelimit.benchmarks.redis;

import io.github.reactorratelimit.benchmarks.report.Sample;

/** What one run of a load saw. Bytes are those that all threads of the process allocated. */
record LoadResult(
        double decisionsPerSecond, double p50Micros, double p99Micros, double bytesPerDecision, double allowedShare) {

    static final String P50 = "p50 µs";
    static final String P99 = "p99 µs";

    Sample sample() {
        return Sample.of(decisionsPerSecond, bytesPerDecision)
                .with(P50, p50Micros)
                .with(P99, p99Micros);
    }
}
