package io.github.reactorratelimit.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * One short round of every contender that decides in memory, and of one group on Redis. They check what they
 * measure.
 */
class SmokeTest {

    /** A million keys and real time take long; several threads run the code of one. */
    private static final Set<String> NOT_HERE = Set.of("web", "redis", "keys", "waiter-join");

    static Stream<Group> shortGroups() {
        return Groups.ALL.stream()
                .filter(group -> group.threads() == 1 && !group.hasOwnIterations())
                .filter(group -> NOT_HERE.stream().noneMatch(group.name()::startsWith)
                        || Set.of("keys-thousand", "waiter-join-100", "redis-hot-64")
                                .contains(group.name()));
    }

    @ParameterizedTest
    @MethodSource("shortGroups")
    void everyContenderRuns(Group group) throws Exception {
        assertThat(new Rounds(Rounds.Form.SMOKE, null, false).run(group))
                .hasSize(group.contenders().size())
                .allSatisfy(result ->
                        assertThat(result.getPrimaryResult().getScore()).isPositive());
    }

    @Test
    void namesAreUniqueAndAreMethodsThatExist() {
        assertThat(Groups.ALL).extracting(Group::name).doesNotHaveDuplicates().isNotEmpty();
        assertThat(Groups.ALL)
                .allSatisfy(group -> assertThat(group.benchmark().getMethods())
                        .extracting(method -> method.getName())
                        .contains(group.method()));
    }

    @Test
    void wordChoosesTheGroupsThatStartWithIt() {
        assertThat(Benchmarks.chosen(List.of("pacing-1000", "refund")))
                .extracting(Group::name)
                .containsExactly("refund", "pacing-1000", "pacing-10000");
        assertThatThrownBy(() -> Benchmarks.chosen(List.of("no-such")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("no-such");
    }
}
