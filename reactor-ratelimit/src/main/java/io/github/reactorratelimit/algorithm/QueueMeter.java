package io.github.reactorratelimit.algorithm;

/**
 * The leaky bucket as a queue: a request leaves when all that left before it has drained, however many
 * permits it asks for, and the next slot is that many intervals later. Who stands in line, and how long
 * the line may get, is up to the waiting line; strict spacing differs only in the time it passes: that of
 * the actual emission instead of the slot. Twin of leaky_bucket.lua: change both, or neither.
 */
final class QueueMeter extends Meter {

    QueueMeter(Fraction interval, long capacity) {
        super(interval, capacity);
    }

    @Override
    long excessParts(long deficitParts, long permits) {
        return deficitParts;
    }

    @Override
    long remaining(long deficitParts) {
        return deficitParts == 0 ? capacity : 0;
    }
}
