package io.github.reactorratelimit.benchmarks.redis;

import io.github.reactorratelimit.benchmarks.report.Kind;
import io.github.reactorratelimit.benchmarks.report.Sample;

/**
 * What one run of a load saw. Bytes are those that all threads of the process allocated. Unanswered are asks whose answer never
 * came, though the load waited for it.
 */
record LoadResult(
        double decisionsPerSecond,
        double p50Micros,
        double p99Micros,
        double bytesPerDecision,
        double allowedShare,
        long unanswered) {

    static final String P50 = "p50 µs";
    static final String P99 = "p99 µs";
    static final String UNANSWERED = "unanswered";

    /** Ours must answer everything; where a peer does not, the table says so. */
    Sample sample(Entrant entrant) {
        Sample sample = Sample.of(decisionsPerSecond, bytesPerDecision)
                .with(P50, p50Micros)
                .with(P99, p99Micros);
        return withUnanswered(entrant, sample, unanswered);
    }

    static Sample withUnanswered(Entrant entrant, Sample sample, long unanswered) {
        if (unanswered == 0) {
            return sample;
        }
        if (entrant.contender().kind() != Kind.PEER) {
            throw new IllegalStateException(unanswered + " asks of " + entrant.name() + " were not answered");
        }
        return sample.with(UNANSWERED, (double) unanswered);
    }
}
