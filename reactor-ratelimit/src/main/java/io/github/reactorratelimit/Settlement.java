package io.github.reactorratelimit;

/**
 * How a {@link Reservation} was settled.
 *
 * @param reserved permits that were reserved
 * @param actual permits that were really spent, as the first call said
 * @param uncharged permits that were spent beyond those reserved, and could not be charged: the key owes as much as it may, or the
 *     store did not answer
 * @param repeated whether it had been settled before: this call changed nothing, and tells what the first one said; of one that is still
 *     under way what is known of it
 */
public record Settlement(long reserved, long actual, long uncharged, boolean repeated) {}
