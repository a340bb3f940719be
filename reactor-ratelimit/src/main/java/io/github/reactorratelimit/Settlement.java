package io.github.reactorratelimit;

/**
 * How a {@link Reservation} was settled.
 *
 * @param reserved permits that were reserved
 * @param actual permits that were really spent, by the first call
 * @param uncharged permits that were spent beyond those reserved and could not be charged, because the key's
 *     debt is at its maximum or the store did not answer
 * @param repeated whether it had been settled before: then this call changed nothing, and reports what is
 *     known of the first
 */
public record Settlement(long reserved, long actual, long uncharged, boolean repeated) {}
