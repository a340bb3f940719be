package io.github.reactorratelimit.benchmarks.local;

import io.github.reactorratelimit.benchmarks.BenchmarkGroup;
import java.util.ArrayList;
import java.util.List;

/** Every group that needs no server. */
public final class LocalGroups {

    private LocalGroups() {}

    /** All of them, in the order of the report. */
    public static List<BenchmarkGroup> all() {
        List<BenchmarkGroup> all = new ArrayList<>();
        all.addAll(OneKeyGroups.all());
        all.addAll(ManyKeysGroups.all());
        all.add(new MemoryGroup());
        all.addAll(StreamGroups.all());
        all.add(new GrowthGroup());
        return all;
    }
}
