package io.github.reactorratelimit.benchmarks;

import io.github.reactorratelimit.benchmarks.local.LocalGroups;
import io.github.reactorratelimit.benchmarks.redis.RedisGroups;
import io.github.reactorratelimit.benchmarks.waiting.WaitingGroups;
import io.github.reactorratelimit.benchmarks.web.WebGroups;
import java.util.ArrayList;
import java.util.List;

/** Every group there is, in the order of the report. */
final class Groups {

    private Groups() {}

    static List<BenchmarkGroup> all() {
        List<BenchmarkGroup> all = new ArrayList<>();
        all.addAll(LocalGroups.all());
        all.addAll(RedisGroups.all());
        all.addAll(WaitingGroups.all());
        all.addAll(WebGroups.all());
        return all;
    }
}
