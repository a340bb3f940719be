package io.github.reactorratelimit.algorithm;

import io.github.reactorratelimit.RateLimitPolicy;

/**
 * The steps of {@link DeficitAlgorithm} over one long: the time at which nothing is owed any more (the TAT),
 * in parts since the clock's origin. Times are compared by difference, so they may wrap: a state that was
 * left alone for 2^63 parts, 4.5 years at the finest fraction, seems to lie ahead. It is recognised by how far:
 * more than can be owed. So such a state {@linkplain #isExpired expires}, and the next debit replaces it.
 * What is left is a key that is left alone for nearly a multiple of 2^64 parts, 9 years at the finest
 * fraction: it may be denied for the time that {@link #mostAhead} parts take, 26 days or eight times as long
 * as it takes to fill. At a whole number of ticks per permit times do not wrap in the 292 years of a clock.
 *
 * @param start the deficit of a new key
 * @param unused the state of a new key: it is recognised and holds at any time
 * @param mostAhead states further ahead than this lie so far back that their times have wrapped
 */
record PackedDeficitAlgorithm(
        RateLimitPolicy policy, RateArithmetic arithmetic, Deficit start, long unused, long mostAhead)
        implements LongAlgorithm {

    private static final long NEVER = LAST_RESERVED + 1;

    /**
     * The largest deficit in parts, unless the capacity is larger: debts, and clock readings of threads that
     * were suspended since.
     */
    private static final long LEAST_AHEAD = 1L << 57;

    /** Times the capacity: it, a debt as large, and as much again for clock readings. */
    private static final long TIMES_CAPACITY = 8;

    static PackedDeficitAlgorithm of(RateLimitPolicy policy, RateArithmetic arithmetic, Deficit start) {
        long unused = start.parts() == 0 ? NEVER : pack(arithmetic, start.at(), start.parts());
        long mostAhead = arithmetic.partsPerTick == 1
                ? Long.MAX_VALUE
                : Math.max(LEAST_AHEAD, TIMES_CAPACITY * arithmetic.mostParts);
        return new PackedDeficitAlgorithm(policy, arithmetic, start, unused, mostAhead);
    }

    /** Whether what is owed can be distinguished from times that have wrapped. */
    static boolean fits(RateArithmetic arithmetic) {
        return arithmetic.partsPerTick == 1
                || (arithmetic.partsPerTick <= RateArithmetic.MAX_PACKED_PARTS_PER_TICK
                        && arithmetic.mostParts < (1L << 62) / TIMES_CAPACITY);
    }

    @Override
    public long capacity() {
        return arithmetic.capacity;
    }

    @Override
    public Long fresh() {
        return unused;
    }

    @Override
    public long waitTicks(long state, long now, long permits) {
        return arithmetic.waitTicks(deficit(state, now), permits);
    }

    @Override
    public long debit(long state, long now, long permits) {
        return pack(arithmetic, now, deficit(state, now) + arithmetic.costParts(permits));
    }

    @Override
    public long take(long state, long now, long permits) {
        long deficit = deficit(state, now);
        return arithmetic.excessParts(deficit, permits) > 0
                ? RESERVED
                : pack(arithmetic, now, deficit + arithmetic.costParts(permits));
    }

    @Override
    public long chargeable(long state, long now, long maxDebt) {
        return arithmetic.chargeable(deficit(state, now), maxDebt, mostAhead / 2);
    }

    @Override
    public boolean isAdditive(long most) {
        return arithmetic.isAdditive(most);
    }

    @Override
    public long remaining(long state, long now) {
        return arithmetic.remaining(deficit(state, now));
    }

    @Override
    public long resetTicks(long state, long now) {
        return arithmetic.ticks(deficit(state, now));
    }

    @Override
    public long refund(long state, long now, long debitedAt, long permits) {
        long back = arithmetic.refundParts(now, debitedAt, permits);
        return back == 0 ? state : pack(arithmetic, now, Math.max(0, deficit(state, now) - back));
    }

    private long deficit(long state, long now) {
        if (state == unused) {
            return arithmetic.deficitParts(start.at(), start.parts(), now);
        }
        long ahead = ahead(state, now);
        return ahead > mostAhead ? 0 : Math.max(0, ahead);
    }

    @Override
    public boolean isExpired(long state, long now) {
        return state != unused && ahead(state, now) > mostAhead;
    }

    private long ahead(long state, long now) {
        return state - now * arithmetic.partsPerTick;
    }

    /** The marks are no times: what falls on them is moved some parts to the strict side. */
    private static long pack(RateArithmetic arithmetic, long now, long parts) {
        return Math.max(now * arithmetic.partsPerTick + parts, NEVER + 1);
    }
}
