package io.github.reactorratelimit.redis;

import static java.util.stream.Collectors.toMap;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.CompositePolicy;
import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.WarmUp;
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
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What belongs to a policy besides its record. A new policy fails here by name until it has all of it. */
class EveryPolicyTest {

    /** Those without a script: the store refuses them when the limiter is built. */
    private static final Set<Class<?>> NOT_YET_ON_REDIS = Set.of(WarmUp.class);

    /** Those whose scripts are not chosen by {@link PartArguments}. */
    private static final Map<Class<?>, String> OTHER_SCRIPTS =
            Map.of(ConcurrencyLimit.class, "concurrency.lua", CompositePolicy.class, "composite.lua");

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
        assertThat(Algorithms.traits(example).policy()).isEqualTo(example);
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
    void hasATwinInLuaOrIsRefusedOnRedis(Class<?> kind) {
        RateLimitPolicy example = EXAMPLES.get(kind);
        if (NOT_YET_ON_REDIS.contains(kind)) {
            assertThatThrownBy(() -> PolicyArguments.of(example, 0))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining(kind.getSimpleName())
                    .hasMessageContaining("Redis");
            return;
        }
        Stream<String> files = OTHER_SCRIPTS.containsKey(kind)
                ? Stream.of(OTHER_SCRIPTS.get(kind))
                : PolicyArguments.of(example, 0).algorithms().flatMap(algorithm -> algorithm.files().stream());
        assertThat(files)
                .isNotEmpty()
                .allSatisfy(file ->
                        assertThat(RedisStore.class.getResource(file)).as(file).isNotNull());
        assertThat(PolicyText.parse(PolicyText.format(example))).isEqualTo(example);
    }
}
