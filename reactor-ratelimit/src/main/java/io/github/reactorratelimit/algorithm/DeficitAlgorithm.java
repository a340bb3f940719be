package io.github.reactorratelimit.algorithm;

import io.github.reactorratelimit.RateLimitPolicy;

/**
 * The steps of the policies that a {@link RateArithmetic} measures. Twin of level.lua: change both, or
 * neither.
 *
 * @param fresh what a key that was never seen owes: nothing, or the tokens that were missing at the start
 */
record DeficitAlgorithm(RateLimitPolicy policy, RateArithmetic arithmetic, Deficit fresh)
        implements Algorithm<Deficit> {

    @Override
    public Algorithm<?> compact() {
        return PackedDeficitAlgorithm.fits(arithmetic) ? PackedDeficitAlgorithm.of(policy, arithmetic, fresh) : this;
    }

    /** The integers for a twin in another language. */
    Rate rate() {
        return new Rate(arithmetic.partsPerTick, arithmetic.partsPerPermit, fresh.parts());
    }

    @Override
    public long waitTicks(Deficit state, long now, long permits) {
        return arithmetic.waitTicks(deficit(state, now), permits);
    }

    @Override
    public long[] toLongs(Deficit state) {
        return new long[] {state.at(), state.parts()};
    }

    @Override
    public Deficit ofLongs(long[] longs) {
        Ticks.requireLongs(2, longs);
        return new Deficit(longs[0], longs[1]);
    }

    @Override
    public Deficit debit(Deficit state, long now, long permits) {
        return new Deficit(now, deficit(state, now) + arithmetic.costParts(permits));
    }

    @Override
    public long chargeable(Deficit state, long now, long maxDebt) {
        return arithmetic.chargeable(deficit(state, now), maxDebt, Long.MAX_VALUE);
    }

    @Override
    public boolean isAdditive(long most) {
        return arithmetic.isAdditive(most);
    }

    @Override
    public long remaining(Deficit state, long now) {
        return arithmetic.remaining(deficit(state, now));
    }

    @Override
    public long resetTicks(Deficit state, long now) {
        return arithmetic.ticks(deficit(state, now));
    }

    @Override
    public Deficit refund(Deficit state, long now, long debitedAt, long permits) {
        long back = arithmetic.refundParts(now, debitedAt, permits);
        return back == 0 ? state : new Deficit(now, Math.max(0, deficit(state, now) - back));
    }

    private long deficit(Deficit state, long now) {
        return arithmetic.deficitParts(state.at(), state.parts(), now);
    }
}
