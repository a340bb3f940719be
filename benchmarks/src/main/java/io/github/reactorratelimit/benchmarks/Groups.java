package io.github.reactorratelimit.benchmarks;

import io.github.reactorratelimit.benchmarks.local.LocalGroups;
import java.util.ArrayList;
import java.util.List;

/** Every group there is, in the order of the report. */
final class Groups {

    private Groups() {}

    static List<BenchmarkGroup> all() {
        List<BenchmarkGroup> all = new ArrayList<>();
        all.addAll(LocalGroups.all());
        return all;
    }
}
