package io.github.reactorratelimit.algorithm;

import io.github.reactorratelimit.RateLimitPolicy;

/**
 * An {@link Algorithm} whose state fits into one long, for stores that swap it by one CAS and must
 * not allocate. The same steps under the same contract; {@link #boxed()} is the same algorithm for
 * everyone else.
 */
public interface LongAlgorithm {

    /** From here to {@link #LAST_RESERVED} no long is a state: stores mark cells with them. */
    long RESERVED = Long.MIN_VALUE;

    /** The last of the marks; states are above it. */
    long LAST_RESERVED = RESERVED + 2;

    /** See {@link Algorithm#policy()}. */
    RateLimitPolicy policy();

    /** See {@link Algorithm#limit()}. */
    long limit();

    /** See {@link Algorithm#fresh()}. */
    long fresh();

    /** See {@link Algorithm#waitTicks}. */
    long waitTicks(long state, long now, long permits);

    /** See {@link Algorithm#debit}. */
    long debit(long state, long now, long permits);

    /**
     * {@link #debit} where {@link #waitTicks} is 0, else {@link #RESERVED}: for those who need not know how
     * long the wait would be, which may take a division.
     */
    default long take(long state, long now, long permits) {
        return waitTicks(state, now, permits) == 0 ? debit(state, now, permits) : RESERVED;
    }

    /** See {@link Algorithm#chargeable}. */
    default long chargeable(long state, long now, long maxDebt) {
        return remaining(state, now);
    }

    /** See {@link Algorithm#remaining}. */
    long remaining(long state, long now);

    /** See {@link Algorithm#resetTicks}. */
    long resetTicks(long state, long now);

    /** See {@link Algorithm#refund}. */
    long refund(long state, long now, long debitedAt, long permits);

    /** See {@link Algorithm#rebase}. */
    default long rebase(long state, long now) {
        return state;
    }

    /** Makes the states that there are those of another policy; false where they say something else under it. */
    default boolean changeTo(RateLimitPolicy other) {
        return false;
    }

    /** The same algorithm over boxed states. */
    default Algorithm<Long> boxed() {
        return new BoxedAlgorithm(this);
    }
}
