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

    /** See {@link Algorithm#isAdditive}. */
    default boolean isAdditive(long most) {
        return false;
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

    /** Whether a state is so old that nothing can be owed any more, and cannot be compared with others by difference. */
    default boolean isExpired(long state, long now) {
        return false;
    }

    /** Makes the states that there are those of another policy; false where they say something else under it. */
    default boolean changeTo(RateLimitPolicy other) {
        return false;
    }

    /** The same algorithm over boxed states. */
    default Algorithm<Long> boxed() {
        return new Boxed(this);
    }

    /** A {@link LongAlgorithm} over boxed states. */
    record Boxed(LongAlgorithm steps) implements Algorithm<Long> {

        @Override
        public RateLimitPolicy policy() {
            return steps.policy();
        }

        @Override
        public long limit() {
            return steps.limit();
        }

        @Override
        public Long fresh() {
            return steps.fresh();
        }

        @Override
        public long waitTicks(Long state, long now, long permits) {
            return steps.waitTicks(state, now, permits);
        }

        @Override
        public long[] toLongs(Long state) {
            return new long[] {state};
        }

        @Override
        public Long ofLongs(long[] longs) {
            Ticks.requireLongs(1, longs);
            return longs[0];
        }

        @Override
        public Long debit(Long state, long now, long permits) {
            return steps.debit(state, now, permits);
        }

        @Override
        public long chargeable(Long state, long now, long maxDebt) {
            return steps.chargeable(state, now, maxDebt);
        }

        @Override
        public boolean isAdditive(long most) {
            return steps.isAdditive(most);
        }

        @Override
        public long remaining(Long state, long now) {
            return steps.remaining(state, now);
        }

        @Override
        public long resetTicks(Long state, long now) {
            return steps.resetTicks(state, now);
        }

        @Override
        public Long refund(Long state, long now, long debitedAt, long permits) {
            return steps.refund(state, now, debitedAt, permits);
        }

        @Override
        public Long rebase(Long state, long now) {
            long rebased = steps.rebase(state, now);
            return rebased == state ? state : Long.valueOf(rebased);
        }
    }
}
