package io.github.reactorratelimit.benchmarks.local;

import io.github.reactorratelimit.benchmarks.BenchmarkGroup;
import io.github.reactorratelimit.benchmarks.Form;
import io.github.reactorratelimit.benchmarks.report.Contender;
import io.github.reactorratelimit.benchmarks.report.Group;
import io.github.reactorratelimit.benchmarks.report.Sample;
import java.util.List;
import java.util.Map;

/** The cost of a decision from a thousand to ten million keys. */
final class GrowthGroup implements BenchmarkGroup {

    private static final int MOST_KEYS_IF_TINY = 1_000_000;

    private final Group group = ManyKeysGroups.growth();
    private final JmhGroup points =
            new JmhGroup(group, ManyKeysBenchmark.class, 1, Map.of("distribution", "uniform"), MOST_KEYS_IF_TINY);

    @Override
    public Group group() {
        return group;
    }

    @Override
    public List<Contender> contenders(Form form) {
        return group.contenders().stream()
                .filter(contender -> form != Form.TINY || contender.x() <= MOST_KEYS_IF_TINY)
                .toList();
    }

    @Override
    public Sample round(Contender contender, Form form) throws Exception {
        return points.round(contender, form);
    }

    @Override
    public double expectedSeconds(Form form) {
        return points.expectedSeconds(form);
    }
}
