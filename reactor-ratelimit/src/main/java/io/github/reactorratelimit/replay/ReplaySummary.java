package io.github.reactorratelimit.replay;

import java.time.Duration;

/**
 * A replay in numbers.
 *
 * @param allowed arrivals let through, at once or later
 * @param denied arrivals turned away
 * @param delayed arrivals let through later than they came
 * @param longestDelay the longest delay of those let through
 * @param medianDelay half of those let through waited no longer; at most 1 % above the exact value
 * @param p99Delay 99 % of those let through waited no longer; at most 1 % above the exact value
 */
public record ReplaySummary(
        long allowed, long denied, long delayed, Duration longestDelay, Duration medianDelay, Duration p99Delay) {}
