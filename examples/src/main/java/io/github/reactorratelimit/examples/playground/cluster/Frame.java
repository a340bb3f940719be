package io.github.reactorratelimit.examples.playground.cluster;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * How things stand.
 *
 * @param atMicros when, since the page came
 * @param limit permits per second that the instances share
 * @param redis {@code none} before it is asked for, then {@code up} or {@code down}
 * @param instances what became of what arrived at each
 * @param code the code for the settings, if they changed
 */
record Frame(
        long atMicros,
        long limit,
        String redis,
        List<Course> instances,
        @Nullable String code) {

    /**
     * What became of all that arrived at an instance so far, as its callers were told.
     *
     * @param arrived requests that came
     * @param allowed requests that were let through
     * @param denied requests that were turned away
     * @param alone decisions that were made without Redis, because it did not answer
     * @param isAlone whether the last one was
     */
    record Course(long arrived, long allowed, long denied, long alone, boolean isAlone) {}

    /**
     * What an instance's limiter itself counted.
     *
     * @param allowed requests it allowed
     * @param denied requests it denied
     * @param degraded decisions it made without Redis, by the way in which it did
     */
    record Totals(long allowed, long denied, Map<String, Long> degraded) {}
}
