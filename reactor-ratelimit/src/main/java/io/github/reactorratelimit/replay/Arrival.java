package io.github.reactorratelimit.replay;

import java.time.Duration;
import java.util.Objects;

/**
 * A request in a log.
 *
 * @param at when it came, since the start of the log
 * @param key whose permits it asked for
 * @param permits how many
 */
public record Arrival(Duration at, String key, long permits) {

    private static final Duration LATEST = Duration.ofNanos(Long.MAX_VALUE);

    public Arrival {
        Objects.requireNonNull(at, "at");
        Objects.requireNonNull(key, "key");
        if (at.isNegative() || at.compareTo(LATEST) > 0) {
            throw new IllegalArgumentException("at must lie between zero and 292 years, was " + at);
        }
        if (permits < 1) {
            throw new IllegalArgumentException("permits must be positive, was " + permits);
        }
    }

    /** A request for one permit of a log that knows no keys. */
    public static Arrival at(Duration at) {
        return new Arrival(at, "", 1);
    }

    /** A request for one permit. */
    public static Arrival at(Duration at, String key) {
        return new Arrival(at, key, 1);
    }
}
