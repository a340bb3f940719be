package io.github.reactorratelimit.benchmarks.redis;

import io.github.reactorratelimit.benchmarks.BenchmarkGroup;
import io.github.reactorratelimit.benchmarks.Form;
import io.github.reactorratelimit.benchmarks.report.Contender;
import io.github.reactorratelimit.benchmarks.report.Group;
import io.github.reactorratelimit.benchmarks.report.Sample;
import java.io.IOException;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** A scenario with its entrants, on a server of its own. */
final class RedisGroup implements BenchmarkGroup {

    private final Group group;
    private final List<Entrant> entrants;
    private final Scenario scenario;
    private @Nullable RedisBench bench;

    RedisGroup(Group group, List<Entrant> entrants, Scenario scenario) {
        this.group = group;
        this.entrants = entrants;
        this.scenario = scenario;
    }

    @Override
    public Group group() {
        return group;
    }

    @Override
    public void open(Form form) throws Exception {
        bench = RedisBench.start();
    }

    @Override
    public Sample round(Contender contender, Form form) throws Exception {
        Entrant entrant = entrants.stream()
                .filter(each -> each.contender().equals(contender))
                .findFirst()
                .orElseThrow();
        return scenario.round(Objects.requireNonNull(bench), entrant, form);
    }

    @Override
    public double expectedSeconds(Form form) {
        return scenario.expectedSeconds(form);
    }

    @Override
    public void close() throws IOException {
        scenario.close();
        if (bench != null) {
            bench.close();
        }
    }
}
