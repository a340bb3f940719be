package io.github.reactorratelimit.algorithm;

/**
 * GCRA, and the token bucket with continuous refill, which is the same: permits pass while what is owed
 * stays within the capacity. Twin of gcra.lua: change both, or neither.
 */
final class BucketMeter extends Meter {

    BucketMeter(Fraction interval, long capacity) {
        super(interval, capacity);
    }

    @Override
    long excessParts(long deficitParts, long permits) {
        return deficitParts - (capacityParts - costParts(permits));
    }

    @Override
    long remaining(long deficitParts) {
        return (capacityParts - deficitParts) / partsPerPermit;
    }
}
