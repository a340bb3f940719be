package io.github.reactorratelimit.redis;

import static java.util.stream.Collectors.toMap;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.CompositePolicy;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.algorithm.Algorithms;
import io.github.reactorratelimit.algorithm.Algorithms.Clock;
import io.github.reactorratelimit.algorithm.GoldenVectors;
import io.github.reactorratelimit.algorithm.PolicyText;
import io.github.reactorratelimit.algorithm.Tick;
import io.github.reactorratelimit.replay.Arrival;
import io.github.reactorratelimit.replay.Replay;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What belongs to a policy besides its record. A new policy fails here by name until it has all of it. */
class EveryPolicyTest {

    private static final Map<Class<?>, RateLimitPolicy> EXAMPLES = GoldenVectors.files().stream()
            .flatMap(file -> GoldenVectors.sections(file).stream())
            .map(GoldenVectors.Section::policy)
            .collect(toMap(RateLimitPolicy::getClass, policy -> policy, (first, other) -> first));

    static List<Class<?>> kinds() {
        return List.of(RateLimitPolicy.class.getPermittedSubclasses());
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void hasVectors(Class<?> kind) {
        assertThat(EXAMPLES).as("src/test/resources/vectors").containsKey(kind);
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void hasAnAlgorithmOfItsOwnAndTraits(Class<?> kind) {
        RateLimitPolicy example = EXAMPLES.get(kind);
        Algorithm<?> algorithm = Algorithms.of(example, new Clock(Tick.MICROSECOND, 0, 0));
        assertThat(algorithm.policy()).isEqualTo(example);
        assertThat(Algorithms.traits(example).recovery()).isPositive();
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void isReplayedUnlessItsPermitsComeBackByRelease(Class<?> kind) {
        RateLimitPolicy example = EXAMPLES.get(kind);
        if (example.needsRelease()) {
            assertThatThrownBy(() -> Replay.of(example)).hasMessageContaining(kind.getSimpleName());
        } else {
            assertThat(Replay.of(example)
                            .run(List.of(Arrival.at(Duration.ZERO, "key")))
                            .events())
                    .hasSize(1);
        }
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void hasARowInTheGuide(Class<?> kind) throws IOException {
        String name = kind == CompositePolicy.class ? "Policies.all" : kind.getSimpleName();
        assertThat(Files.readAllLines(Path.of("../docs/policies.md")))
                .as("a row of %s in docs/policies.md", name)
                .anyMatch(line -> line.contains("| `" + name + "` |"));
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void hasATwinInLua(Class<?> kind) {
        RateLimitPolicy example = EXAMPLES.get(kind);
        String script = RedisScript.ofCommands().text();
        assertThat(ScriptPolicy.of(example).algorithms())
                .hasSameSizeAs(example.parts())
                .allSatisfy(algorithm -> assertThat(script).contains("\nalgorithms." + algorithm + " = "));
        assertThat(PolicyText.parse(PolicyText.format(example))).isEqualTo(example);
    }
}
