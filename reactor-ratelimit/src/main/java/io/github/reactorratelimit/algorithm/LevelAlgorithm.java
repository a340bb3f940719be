package io.github.reactorratelimit.algorithm;

import io.github.reactorratelimit.RateLimitPolicy;

/**
 * The steps of the policies that a {@link Meter} measures. Twin of level.lua: change both, or neither.
 *
 * @param fresh what a key that was never seen owes: nothing, or the tokens that were missing at the start
 */
record LevelAlgorithm(RateLimitPolicy policy, Meter meter, Level fresh) implements Algorithm<Level> {

    @Override
    public long limit() {
        return meter.capacity;
    }

    @Override
    public long waitTicks(Level state, long now, long permits) {
        return meter.waitTicks(deficit(state, now), permits);
    }

    @Override
    public Level debit(Level state, long now, long permits) {
        return new Level(now, deficit(state, now) + meter.costParts(permits));
    }

    @Override
    public long chargeable(Level state, long now, long maxDebt) {
        return meter.chargeable(deficit(state, now), maxDebt);
    }

    @Override
    public long remaining(Level state, long now) {
        return meter.remaining(deficit(state, now));
    }

    @Override
    public long resetTicks(Level state, long now) {
        return meter.ticks(deficit(state, now));
    }

    @Override
    public Level refund(Level state, long now, long debitedAt, long permits) {
        long back = meter.refundParts(now, debitedAt, permits);
        return back == 0 ? state : new Level(now, Math.max(0, deficit(state, now) - back));
    }

    /** What was overdrawn stays, as of now if the clock has gone back. */
    @Override
    public Level rebase(Level state, long now) {
        if (state.parts() > meter.mostParts) {
            return now < state.at() ? new Level(now, state.parts()) : state;
        }
        return meter.liesAhead(state.at(), state.parts(), now) ? new Level(now, meter.mostParts) : state;
    }

    private long deficit(Level state, long now) {
        return meter.deficitParts(state.at(), state.parts(), now);
    }
}
