package io.github.reactorratelimit.examples.playground.live;

import java.time.Duration;
import java.util.random.RandomGenerator;

/**
 * What arrives.
 *
 * @param shape how it is spread over time
 * @param perSecond the rate of steady and Poisson traffic
 * @param burstSize how many come at once, in bursts
 * @param burstEvery from one burst to the next
 */
record Traffic(Shape shape, int perSecond, int burstSize, Duration burstEvery) {

    /** The most that is ever simulated. */
    static final int FLOOD_PER_SECOND = 300;

    private static final long NANOS_PER_SECOND = 1_000_000_000;

    /** How arrivals are spread over time. */
    enum Shape {
        STEADY,
        BURSTS,
        POISSON,
        FLOOD,
        /** Nothing comes but what the person sends. */
        CLICKS
    }

    boolean flows() {
        return shape != Shape.CLICKS;
    }

    int atOnce() {
        return shape == Shape.BURSTS ? burstSize : 1;
    }

    /** Time from one arrival to the next; a Poisson process has exponential gaps. */
    long gapNanos(RandomGenerator random) {
        return switch (shape) {
            case STEADY, CLICKS -> NANOS_PER_SECOND / perSecond;
            case BURSTS -> burstEvery.toNanos();
            case POISSON -> (long) (-Math.log(1 - random.nextDouble()) * NANOS_PER_SECOND / perSecond);
            case FLOOD -> NANOS_PER_SECOND / FLOOD_PER_SECOND;
        };
    }
}
