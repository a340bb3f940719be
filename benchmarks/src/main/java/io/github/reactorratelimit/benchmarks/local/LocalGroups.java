package io.github.reactorratelimit.benchmarks.local;

import io.github.reactorratelimit.benchmarks.BenchmarkGroup;
import java.util.List;

/** Every group that needs no server. */
public final class LocalGroups {

    private LocalGroups() {}

    /** All of them, in the order of the report. */
    public static List<BenchmarkGroup> all() {
        return List.of();
    }
}
