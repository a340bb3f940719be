package io.github.reactorratelimit.examples.playground.live;

import io.github.reactorratelimit.examples.playground.Fields;
import io.github.reactorratelimit.examples.playground.Traffic;
import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a page asked to be simulated; bounded, so that no page can ask for much.
 *
 * @param shown the policy whose code is shown; all of them are simulated
 * @param limits what the policies are made of
 * @param mode what becomes of who finds no permit
 * @param maxWait how long one waits at most, when delayed
 * @param traffic what arrives
 */
record Settings(Kind shown, Limits limits, Mode mode, Duration maxWait, Traffic traffic) {

    /** What becomes of a request that finds no permit. */
    enum Mode {
        REJECT,
        DELAY
    }

    /**
     * What the policies are made of.
     *
     * @param rate permits per second
     * @param burst permits at once, of buckets
     * @param windowSeconds the length of windows, which hold {@code rate} permits for each second
     * @param queue who may wait in a leaky bucket
     * @param inFlight permits of the concurrency limit
     * @param work how long each holds one of those
     */
    record Limits(int rate, int burst, int windowSeconds, int queue, int inFlight, Duration work) {

        int perWindow() {
            return rate * windowSeconds;
        }
    }

    static Settings of(Map<String, @Nullable Object> json) {
        Fields fields = new Fields(json);
        Settings settings = new Settings(
                fields.choice("policy", Kind.class),
                new Limits(
                        fields.integer("rate", 1, 200),
                        fields.integer("burst", 1, 200),
                        fields.integer("windowSeconds", 1, 10),
                        fields.integer("queue", 1, 500),
                        fields.integer("inFlight", 1, 100),
                        Duration.ofMillis(fields.integer("workMillis", 10, 5_000))),
                fields.choice("mode", Mode.class),
                Duration.ofMillis(fields.integer("maxWaitMillis", 0, 10_000)),
                Traffic.of(fields));
        fields.nothingElse();
        return settings;
    }

    Duration maxWaitInMode() {
        return mode == Mode.DELAY ? maxWait : Duration.ZERO;
    }
}
