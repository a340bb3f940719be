package io.github.reactorratelimit.queue;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.algorithm.Projection;

/** The state of one key in this process: it decides on the thread that asks. */
public interface ImmediateKey extends QueuedKey {

    /** When a pause of the key ends, as far as it is known here; a time in the past if it is not paused. */
    long pausedUntil();

    /** The key's policy. */
    RateLimitPolicy policy();

    /** Whether permits that a late timer delivers are debited at the time they came due. */
    boolean catchesUp();

    /** The nanoseconds from {@code at} until permits are available, 0 if they are, {@link Algorithm#UNKNOWN} if that is not known. */
    long waitNanos(long at, long permits);

    /** Debits permits as of {@code at}, or denies. */
    Decision debit(long at, long permits);

    /** Takes back a debit in the step that made it, as if it had not been. */
    void undo(Debit debit);

    /** What lies ahead of the key without its waiters. */
    Projection<?> projection(long now);
}
