package io.github.reactorratelimit.algorithm;

import io.github.reactorratelimit.SlidingWindowCounter;

/**
 * The integers in which a sliding window counter measures time: where {@code limit * window} would not be
 * exact, grains of several ticks.
 *
 * @param windowTicks length of the window
 * @param grainTicks ticks of a grain
 * @param windowGrains grains of the window, rounded up
 */
public record WindowResolution(long windowTicks, long grainTicks, long windowGrains) {

    private static final long MIN_GRAINS = 1_000;

    /**
     * The finest grains that are exact.
     *
     * @throws IllegalArgumentException if the limit is so large that they would not keep it to the promised
     *     0.1 %
     */
    public static WindowResolution of(SlidingWindowCounter policy, Tick tick) {
        long windowTicks = tick.ticks("window", policy.window());
        long mostGrains = (tick.exactBelow() - 1) / policy.limit();
        if (mostGrains < Math.min(windowTicks, MIN_GRAINS)) {
            throw new IllegalArgumentException("limit " + policy.limit() + " per " + policy.window()
                    + " cannot be counted to 0.1 % in steps of one " + tick + "; lower it");
        }
        long grainTicks = Ticks.ceilDiv(windowTicks, mostGrains);
        return new WindowResolution(windowTicks, grainTicks, Ticks.ceilDiv(windowTicks, grainTicks));
    }
}
