package io.github.reactorratelimit.examples.playground;

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
public record Traffic(Shape shape, int perSecond, int burstSize, Duration burstEvery) {

    /** The most that is ever simulated. */
    public static final int FLOOD_PER_SECOND = 300;

    private static final long NANOS_PER_SECOND = 1_000_000_000;

    /** How arrivals are spread over time. */
    public enum Shape {
        STEADY,
        BURSTS,
        POISSON,
        FLOOD,
        /** Nothing comes but what the person sends. */
        CLICKS
    }

    /** As a page sends it. */
    public static Traffic of(Fields fields) {
        return new Traffic(
                fields.choice("traffic", Shape.class),
                fields.integer("trafficRate", 1, FLOOD_PER_SECOND),
                fields.integer("burstSize", 1, 100),
                Duration.ofMillis(fields.integer("burstEveryMillis", 250, 10_000)));
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
