package io.github.reactorratelimit.queue;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.algorithm.Projection;

/** The state of one key in this process, as its queue sees it. Times are nanoseconds of any origin. */
public interface QueuedKey {

    /** The time. */
    long now();

    /** The key's policy. */
    RateLimitPolicy policy();

    /** When a pause of the key ends; a time in the past if it is not paused. */
    long pausedUntil();

    /** The nanoseconds from {@code at} until {@code permits} are available, 0 if they are, {@link Algorithm#UNKNOWN} if that is not known. */
    long waitNanos(long at, long permits);

    /** Debits permits as of {@code at}, or denies. */
    Decision debit(long at, long permits);

    /** Gives back a debit that was granted but not used. */
    void refund(Debit debit);

    /** Takes back a debit in the step that made it, as if it had not been. */
    void undo(Debit debit);

    /** A denial of {@code permits} that would be granted at {@code grantedAt}, {@link Algorithm#UNKNOWN} if that is not known. */
    Decision deny(long now, long permits, long grantedAt);

    /** What lies ahead of the key without its waiters. */
    Projection<?> projection(long now);
}
