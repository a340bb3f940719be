package io.github.reactorratelimit.redis;

import java.util.List;

/** An algorithm as the scripts know it. */
enum ScriptAlgorithm {
    GCRA("gcra", "b", "gcra.lua"),
    LEAKY_BUCKET("leaky_bucket", "q", "leaky_bucket.lua"),
    STEPWISE_BUCKET("stepwise_bucket", "s", "stepwise_bucket.lua"),
    EPOCH_WINDOW("epoch_window", "w", "fixed_window.lua"),
    FIRST_REQUEST_WINDOW("first_request_window", "w", "fixed_window.lua"),
    CALENDAR_WINDOW("calendar_window", "w", "fixed_window.lua"),
    SLIDING_COUNTER("sliding_counter", "c", "sliding_counter.lua"),
    SLIDING_LOG("sliding_log", "l", "sliding_log.lua");

    private final String argument;
    private final String partName;
    private final String file;

    ScriptAlgorithm(String argument, String partName, String file) {
        this.argument = argument;
        this.partName = partName;
        this.file = file;
    }

    /** Its name in the arguments of a call. */
    String argument() {
        return argument;
    }

    /**
     * Its name in a key. Those with states of the same form share one; others must not: a policy changed
     * to another algorithm would find a state that it cannot read.
     */
    String partName() {
        return partName;
    }

    /** What a script that runs it needs, in this order. */
    List<String> files() {
        return isMetered() ? List.of("level.lua", file, "reservation.lua") : List.of(file);
    }

    /** Whether it lets permits flow back continuously, so that there are slots ahead to reserve. */
    boolean isMetered() {
        return this == GCRA || this == LEAKY_BUCKET;
    }
}
