package io.github.reactorratelimit.algorithm;

import java.time.Duration;

/**
 * The leaky bucket as a queue: a request leaves when all permits before it have drained, however many it
 * needs, and the next slot is that many intervals later. It leaves in the tick of its slot, so that no
 * fraction of a tick is lost from slot to slot; slots, and any half-open window of whole ticks, hold the rate
 * exactly.
 *
 * <p>The queue of the key bounds its waiters. Strict spacing differs only in the time that is passed: that of
 * the actual emission instead of the slot. Twin of level.lua: change both, or neither.
 */
final class QueueArithmetic extends RateArithmetic {

    private QueueArithmetic(Fraction interval, long capacity) {
        super(interval, capacity, interval.partsPerTick() - 1);
    }

    static QueueArithmetic of(long permits, Duration period, long queueCapacity, Tick tick) {
        return new QueueArithmetic(
                Fraction.of(permits, period, "queueCapacity", queueCapacity, tick, Long.MAX_VALUE), queueCapacity);
    }

    @Override
    long excessParts(long deficitParts, long permits) {
        return deficitParts - (partsPerTick - 1);
    }

    /** A request leaves in the tick of its slot, so that nothing is lost. */
    @Override
    boolean isAdditive(long most) {
        return true;
    }

    @Override
    long remaining(long deficitParts) {
        return deficitParts < partsPerTick ? capacity : 0;
    }
}
