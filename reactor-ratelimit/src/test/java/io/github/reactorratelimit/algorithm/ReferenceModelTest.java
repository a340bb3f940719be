package io.github.reactorratelimit.algorithm;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.algorithm.History.Tally;
import io.github.reactorratelimit.testing.Seeds;
import java.util.EnumSet;
import java.util.Set;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Every algorithm, and the same over smaller states, against a naive model in unbounded integers. */
@Tag("slow")
class ReferenceModelTest {

    private static final long HISTORIES = Boolean.getBoolean("ratelimit.tests.full") ? 1_000_000 : 10_000;

    private static final Set<Scenario.Kind> PACKED = EnumSet.of(
            Scenario.Kind.TOKEN_BUCKET,
            Scenario.Kind.GCRA,
            Scenario.Kind.LEAKY_BUCKET,
            Scenario.Kind.FIXED_WINDOW_EPOCH,
            Scenario.Kind.COMPOSITE);

    private static final Set<Scenario.Kind> SETTLED = EnumSet.complementOf(
            EnumSet.of(Scenario.Kind.LEAKY_BUCKET, Scenario.Kind.WARM_UP, Scenario.Kind.CONCURRENCY_LIMIT));

    @ParameterizedTest
    @EnumSource
    void agreesWithTheModelOnEveryAnswerOfEveryHistory(Scenario.Kind kind) {
        long seed = Seeds.of(kind.name());
        Tally tally = LongStream.range(0, HISTORIES)
                .parallel()
                .mapToObj(history -> History.run(kind, seed + history))
                .reduce(new Tally(), Tally::sum);

        double denied = 100.0 * tally.denials / tally.steps;
        double atBoundary = 100.0 * tally.atBoundary / tally.steps;
        System.out.printf(
                "%s: %d histories, %d steps, %.1f %% denied, %.1f %% within one tick of a boundary, %d refunds, %d overdrafts,"
                        + " %d over smaller states too%n",
                kind,
                HISTORIES,
                tally.steps,
                denied,
                atBoundary,
                tally.refunds,
                tally.overdrafts,
                tally.packedHistories);
        assertThat(tally.steps).isGreaterThanOrEqualTo(50 * HISTORIES);
        assertThat(denied).isGreaterThanOrEqualTo(20);
        assertThat(atBoundary).isGreaterThanOrEqualTo(10);
        assertThat(100.0 * tally.refunds / tally.steps).isGreaterThan(2);
        assertThat(100.0 * tally.overdrafts / tally.steps > 2).isEqualTo(SETTLED.contains(kind));
        assertThat(tally.packedHistories > 0).isEqualTo(PACKED.contains(kind));
    }
}
