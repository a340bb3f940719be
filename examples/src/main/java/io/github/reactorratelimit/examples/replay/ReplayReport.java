package io.github.reactorratelimit.examples.replay;

import java.time.Duration;
import java.time.Instant;
import java.util.List;

/**
 * What policies would have done to a log.
 *
 * @param requests lines that were replayed
 * @param unreadable lines that could not be read
 * @param outOfOrder requests whose time lay before that of the one ahead
 * @param withoutKey requests that name no key, such as a user; all of them count as one
 * @param from when the first one came
 * @param to when the last one came
 * @param bucket the length of the parts that the log is counted by
 * @param arrivals requests that came, by bucket
 * @param outcomes one for each policy
 */
public record ReplayReport(
        long requests,
        long unreadable,
        long outOfOrder,
        long withoutKey,
        Instant from,
        Instant to,
        Duration bucket,
        List<Long> arrivals,
        List<Outcome> outcomes) {

    /**
     * What one policy would have done.
     *
     * @param policy in words
     * @param allowed requests let through, at once or later
     * @param denied requests turned away
     * @param delayed requests let through later than they came
     * @param p99Delay 99 % of those let through waited no longer; within 0.1 %
     * @param longestDelay the longest wait of those let through
     * @param keysLimited keys that were denied something; at least so many, unless {@code exact}
     * @param exact whether all keys were counted; if not, counts of keys are lower bounds
     * @param worst the keys that were denied most
     * @param departures requests let through, by the bucket in which they would have left
     * @param denials requests turned away, by bucket
     */
    public record Outcome(
            String policy,
            long allowed,
            long denied,
            long delayed,
            Duration p99Delay,
            Duration longestDelay,
            long keysLimited,
            boolean exact,
            List<LimitedKey> worst,
            List<Long> departures,
            List<Long> denials) {}

    /**
     * A key that would have been limited.
     *
     * @param key whose requests
     * @param denied how many of them were turned away
     * @param requests how many there were
     */
    public record LimitedKey(String key, long denied, long requests) {}
}
