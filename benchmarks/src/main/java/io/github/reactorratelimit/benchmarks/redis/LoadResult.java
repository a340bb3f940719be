package io.github.reactorratelimit.benchmarks.redis;

/** What one run of a load saw. Bytes are those that all threads of the process allocated. */
record LoadResult(
        double decisionsPerSecond, double p50Micros, double p99Micros, double bytesPerDecision, double allowedShare) {}
