package io.github.reactorratelimit.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.benchmarks.local.LocalGroups;
import io.github.reactorratelimit.benchmarks.redis.RedisGroups;
import io.github.reactorratelimit.benchmarks.report.Contender;
import io.github.reactorratelimit.benchmarks.report.Sample;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** One tiny round of every contender of the groups that need no server, and of one that does, in this JVM: they still run, and take the right path. */
class SmokeTest {

    static Stream<BenchmarkGroup> oneThread() {
        return LocalGroups.all().stream()
                .filter(group -> !group.group().id().endsWith("-2"))
                .filter(group -> !group.group().hasLines());
    }

    @ParameterizedTest
    @MethodSource("oneThread")
    void everyContenderRuns(BenchmarkGroup group) throws Exception {
        for (Contender contender : group.contenders(Form.TINY)) {
            Sample sample = group.round(contender, Form.TINY);

            assertThat(sample.value()).as(contender.name()).isPositive();
        }
    }

    @Test
    void everyContenderOnRedisRuns() throws Exception {
        BenchmarkGroup group = RedisGroups.all().stream()
                .filter(each -> each.group().id().equals("redis-hot-64"))
                .findFirst()
                .orElseThrow();
        group.open(Form.TINY);
        try {
            for (Contender contender : group.contenders(Form.TINY)) {
                assertThat(group.round(contender, Form.TINY).value())
                        .as(contender.name())
                        .isPositive();
            }
        } finally {
            group.close();
        }
    }

    @Test
    void groupsHaveNamesOfTheirOwn() {
        List<String> ids =
                Groups.all().stream().map(group -> group.group().id()).toList();

        assertThat(ids).doesNotHaveDuplicates().isNotEmpty();
    }
}
