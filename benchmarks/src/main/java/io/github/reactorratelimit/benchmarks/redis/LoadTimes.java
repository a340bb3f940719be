package io.github.reactorratelimit.benchmarks.redis;

import io.github.reactorratelimit.benchmarks.Form;
import java.time.Duration;

/** How long a load runs before it is measured, and then. */
record LoadTimes(Duration warmUp, Duration measured) {

    /** The first round of a contender also warms up the JVM. */
    static LoadTimes of(Form form, boolean first) {
        return switch (form) {
            case TINY -> millis(20, 50);
            case QUICK -> millis(first ? 1_200 : 300, 1_000);
            case FULL -> millis(first ? 4_000 : 1_000, 5_000);
        };
    }

    private static LoadTimes millis(long warmUp, long measured) {
        return new LoadTimes(Duration.ofMillis(warmUp), Duration.ofMillis(measured));
    }

    double seconds() {
        return (warmUp.toMillis() + measured.toMillis()) / 1_000.0;
    }
}
