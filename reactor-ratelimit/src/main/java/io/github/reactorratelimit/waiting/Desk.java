package io.github.reactorratelimit.waiting;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.algorithm.Projection;

/** What a line stands in front of: the state of its key. Times are nanoseconds of the
 * desk's own clock, of any origin. */
public interface Desk {

    /** The time. */
    long now();

    /** The key's policy. */
    RateLimitPolicy policy();

    /** When a pause of the key ends; a time in the past if it is not paused. */
    long pausedUntil();

    /** The nanoseconds until {@code permits} are there as of {@code at}, 0 if they are, {@link Algorithm#UNKNOWN} if nobody can know. */
    long waitNanos(long at, long permits);

    /** Takes permits as of {@code at}, or denies. */
    Decision debit(long at, long permits);

    /** Takes permits for one that comes now and need not stand in line, or denies. */
    default Decision debitOnArrival(long now, long permits) {
        return debit(now, permits);
    }

    /** One who stood in line is being told of its debit now, perhaps later than as of when it was made. */
    default void told(Debit debit) {}

    /** Gives back a debit that was handed over but not used. */
    void refund(Debit debit);

    /** Takes back a debit in the same step that made it, as if it had not been. */
    void undo(Debit debit);

    /** A denial of {@code permits} that could be had at {@code grantedAt}, {@link Algorithm#UNKNOWN} if nobody can know. */
    Decision deny(long now, long permits, long grantedAt);

    /** What lies ahead of the key without those who wait. */
    Projection<?> projection(long now);
}
