package io.github.reactorratelimit.algorithm;

import io.github.reactorratelimit.RateLimitPolicy;

/**
 * An {@link Algorithm} whose state fits into one long, for stores that swap it by one CAS and must not
 * allocate. Each step is there twice: over a {@code long}, and over a {@code Long} for all that works with
 * any algorithm.
 */
public interface LongAlgorithm extends Algorithm<Long> {

    /** From here to {@link #LAST_RESERVED} no long is a state: stores mark cells with them. */
    long RESERVED = Long.MIN_VALUE;

    /** The last of the marks; states are above it. */
    long LAST_RESERVED = RESERVED + 2;

    /** See {@link Algorithm#waitTicks}. */
    long waitTicks(long state, long now, long permits);

    /** See {@link Algorithm#debit}. */
    long debit(long state, long now, long permits);

    /**
     * {@link #debit} where {@link #waitTicks} is 0, else {@link #RESERVED}: for callers that need not know
     * how long the wait would be, which may take a division.
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

    /**
     * Whether a state is so old that nothing can be owed any more, and cannot be compared with others by
     * difference.
     */
    default boolean isExpired(long state, long now) {
        return false;
    }

    /**
     * Makes the states that there are those of another policy; false where they say something else under it.
     */
    default boolean changeTo(RateLimitPolicy other) {
        return false;
    }

    @Override
    default long waitTicks(Long state, long now, long permits) {
        return waitTicks(state.longValue(), now, permits);
    }

    @Override
    default Long debit(Long state, long now, long permits) {
        return debit(state.longValue(), now, permits);
    }

    @Override
    default long chargeable(Long state, long now, long maxDebt) {
        return chargeable(state.longValue(), now, maxDebt);
    }

    @Override
    default long remaining(Long state, long now) {
        return remaining(state.longValue(), now);
    }

    @Override
    default long resetTicks(Long state, long now) {
        return resetTicks(state.longValue(), now);
    }

    @Override
    default Long refund(Long state, long now, long debitedAt, long permits) {
        return refund(state.longValue(), now, debitedAt, permits);
    }

    @Override
    default long[] toLongs(Long state) {
        return new long[] {state};
    }

    @Override
    default Long ofLongs(long[] longs) {
        Ticks.requireLongs(1, longs);
        return longs[0];
    }
}
