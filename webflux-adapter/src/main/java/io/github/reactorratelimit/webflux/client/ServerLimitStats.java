package io.github.reactorratelimit.webflux.client;

/**
 * What was learned from answers so far, for counters.
 *
 * @param pauses answers that paused their key
 * @param slowdowns answers that slowed their key
 * @param malformed answers in which a field about limits could not be understood, and was ignored
 * @param lost pauses that the store did not take: only the local share of a limiter in Redis follows them
 */
public record ServerLimitStats(long pauses, long slowdowns, long malformed, long lost) {}
