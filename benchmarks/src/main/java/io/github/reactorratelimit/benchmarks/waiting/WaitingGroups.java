package io.github.reactorratelimit.benchmarks.waiting;

import io.github.reactorratelimit.benchmarks.BenchmarkGroup;
import java.util.List;

/** Every group in which callers wait. */
public final class WaitingGroups {

    private WaitingGroups() {}

    /** All of them, in the order of the report. */
    public static List<BenchmarkGroup> all() {
        return List.of(
                new Pacing(100), new Pacing(1_000), new Pacing(10_000), new CancelledWaits(), new WaiterGrowth());
    }
}
