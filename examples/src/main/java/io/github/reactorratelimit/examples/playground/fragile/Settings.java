package io.github.reactorratelimit.examples.playground.fragile;

import io.github.reactorratelimit.examples.playground.Fields;
import io.github.reactorratelimit.examples.playground.Traffic;
import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a page asked to be simulated; bounded, so that no page can ask for much.
 *
 * @param capacity calls that each copy of the server can do per second
 * @param breaks what the server does with more
 * @param retries what clients do when a call failed
 * @param shaping what stands before the copy on the right
 * @param traffic the calls, the same for both copies
 */
record Settings(int capacity, Breaks breaks, Retries retries, Shaping shaping, Traffic traffic) {

    /** What becomes of a call that the server refused or failed. */
    enum Retries {
        NEVER,
        /** Up to {@link Client#MOST_RETRIES} times: at once without the library, by a {@code RateLimitRetry} with it. */
        AGAIN
    }

    /** What stands before the server. */
    enum Shape {
        LEAKY_BUCKET,
        CONCURRENCY,
        ADAPTIVE,
        RETRY_AFTER
    }

    /**
     * The limiter on the right.
     *
     * @param shape of which kind it is
     * @param rate calls per second, of a leaky bucket with or without learned pauses
     * @param inFlight calls at the same time, of a concurrency limit
     * @param maxWait how long a call waits for its turn at most
     */
    record Shaping(Shape shape, int rate, int inFlight, Duration maxWait) {}

    static Settings of(Map<String, @Nullable Object> json) {
        Fields fields = new Fields(json);
        Settings settings = new Settings(
                fields.integer("capacity", 2, 200),
                fields.choice("breaks", Breaks.class),
                fields.choice("retries", Retries.class),
                new Shaping(
                        fields.choice("shape", Shape.class),
                        fields.integer("rate", 1, 200),
                        fields.integer("inFlight", 1, 100),
                        Duration.ofMillis(fields.integer("maxWaitMillis", 0, 10_000))),
                Traffic.of(fields));
        fields.nothingElse();
        return settings;
    }
}
