package io.github.reactorratelimit.algorithm;

import io.github.reactorratelimit.RateLimitPolicy;

/**
 * The steps of {@link LevelAlgorithm} over one long: the time at which nothing is owed any more (the
 * TAT), in parts since the clock's origin. Times are compared by difference, so they may wrap; a state
 * that was left alone for 2^63 parts, 4.5 years at the finest fraction, would lock its key out for up to as
 * long again.
 * The state of a key that was never seen is told apart and holds at any time.
 */
final class PackedLevelAlgorithm implements LongAlgorithm {

    private static final long NEVER = LAST_RESERVED + 1;

    private final RateLimitPolicy policy;
    private final Meter meter;
    private final Level start;
    private final long fresh;

    PackedLevelAlgorithm(RateLimitPolicy policy, Meter meter, Level start) {
        this.policy = policy;
        this.meter = meter;
        this.start = start;
        this.fresh = start.parts() == 0 ? NEVER : pack(start.at(), start.parts());
    }

    @Override
    public RateLimitPolicy policy() {
        return policy;
    }

    @Override
    public long limit() {
        return meter.capacity;
    }

    @Override
    public long fresh() {
        return fresh;
    }

    @Override
    public long waitTicks(long state, long now, long permits) {
        return meter.waitTicks(deficit(state, now), permits);
    }

    @Override
    public long debit(long state, long now, long permits) {
        return pack(now, deficit(state, now) + meter.costParts(permits));
    }

    @Override
    public long take(long state, long now, long permits) {
        long deficit = deficit(state, now);
        return meter.excessParts(deficit, permits) > 0 ? RESERVED : pack(now, deficit + meter.costParts(permits));
    }

    @Override
    public long chargeable(long state, long now, long maxDebt) {
        return meter.chargeable(deficit(state, now), maxDebt);
    }

    @Override
    public long remaining(long state, long now) {
        return meter.remaining(deficit(state, now));
    }

    @Override
    public long resetTicks(long state, long now) {
        return meter.ticks(deficit(state, now));
    }

    @Override
    public long refund(long state, long now, long debitedAt, long permits) {
        long back = meter.refundParts(now, debitedAt, permits);
        return back == 0 ? state : pack(now, Math.max(0, deficit(state, now) - back));
    }

    /** What is overdrawn cannot be told from a time that lies ahead: where the clock may go backward debts are cut off. */
    @Override
    public long rebase(long state, long now) {
        return state != fresh && ahead(state, now) > meter.mostParts ? pack(now, meter.mostParts) : state;
    }

    private long deficit(long state, long now) {
        if (state == fresh) {
            return meter.deficitParts(start.at(), start.parts(), now);
        }
        return Math.max(0, ahead(state, now));
    }

    private long ahead(long state, long now) {
        return state - now * meter.partsPerTick;
    }

    /** The marks are no times: what falls on them is moved some parts to the strict side. */
    private long pack(long now, long parts) {
        return Math.max(now * meter.partsPerTick + parts, NEVER + 1);
    }
}
