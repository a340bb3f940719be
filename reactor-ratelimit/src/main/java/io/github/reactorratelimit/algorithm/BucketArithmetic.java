package io.github.reactorratelimit.algorithm;

import io.github.reactorratelimit.Saturated;
import java.time.Duration;

/**
 * GCRA, and the token bucket with continuous refill, which is the same: permits pass while what is owed
 * stays within the capacity. Twin of level.lua: change both, or neither.
 */
final class BucketArithmetic extends RateArithmetic {

    private BucketArithmetic(Fraction interval, long capacity) {
        super(interval, capacity, 0);
    }

    /**
     * @param name the policy's name for the capacity, for errors
     * @param mostPartsPerTick above this an interval is rounded up
     * @throws IllegalArgumentException if the capacity is too large to be counted, or so small that the
     *     bucket would overflow between two ticks while a waiter needs the next permit
     */
    static BucketArithmetic of(
            long permits, Duration period, String name, long capacity, Tick tick, long mostPartsPerTick) {
        Fraction interval = Fraction.of(permits, period, name, capacity, tick, mostPartsPerTick);
        BucketArithmetic arithmetic = new BucketArithmetic(interval, capacity);
        if (arithmetic.lostParts() > Math.max(arithmetic.partsPerPermit, arithmetic.partsPerTick) / INVERSE_TOLERANCE) {
            throw new IllegalArgumentException(name + " " + capacity + " is too small to keep " + permits + " per "
                    + period + " to 0.1 % in steps of one " + tick + "; raise it to "
                    + Saturated.plus(2, (arithmetic.partsPerTick - 2) / arithmetic.partsPerPermit));
        }
        return arithmetic;
    }

    /** What flows into a full bucket, at most, between a permit's time and the next whole tick. */
    private long lostParts() {
        return capacity == 1
                ? Math.floorMod(-partsPerPermit, partsPerTick)
                : partsPerTick - 1 - (capacity - 1) * partsPerPermit;
    }

    @Override
    long excessParts(long deficitParts, long permits) {
        return deficitParts - (capacityParts - costParts(permits));
    }

    /**
     * A bucket that is full between a permit's time and the next tick loses a part of a tick with each
     * request.
     */
    @Override
    boolean isAdditive(long most) {
        return partsPerTick == 1 || (capacity - most) * partsPerPermit >= partsPerTick - 1;
    }

    @Override
    long remaining(long deficitParts) {
        long free = capacityParts - deficitParts;
        // A denied key has less than a permit: that needs no division.
        return free < partsPerPermit ? 0 : free / partsPerPermit;
    }
}
