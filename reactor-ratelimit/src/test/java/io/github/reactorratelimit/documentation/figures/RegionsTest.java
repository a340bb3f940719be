package io.github.reactorratelimit.documentation.figures;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The simulation of {@code docs/scaling.md}: what sharing a limit between regions costs. */
class RegionsTest {

    private static final int BURST = Regions.LIMIT / 10;

    @Test
    void sharesOfThreeRegionsAreAsDrawn() throws IOException {
        Map<String, Regions.Outcome> ways = new LinkedHashMap<>();
        ways.put("one store", Regions.together());
        ways.put("a third each", Regions.inThirds());
        ways.put("moved every 10 s", Regions.inSharesMovedEvery(Duration.ofSeconds(10)));
        ways.put("moved every 2 s", Regions.inSharesMovedEvery(Duration.ofSeconds(2)));
        BarRows rows = new BarRows(Regions.LENGTH, Duration.ofSeconds(2), 2 * Regions.LIMIT);
        ways.forEach((way, outcome) -> add(rows, way, outcome));

        assertThat(ways)
                .allSatisfy((way, outcome) -> assertThat(MostInASecond.of(outcome.passed()))
                        .as(way)
                        .isLessThanOrEqualTo(Regions.LIMIT + BURST));
        new Figures("plots").check("regions", rows.document(Duration.ofSeconds(20)));
    }

    private static void add(BarRows rows, String way, Regions.Outcome outcome) {
        int denied = outcome.denied().size();
        double share = 100.0 * denied / (denied + outcome.passed().size());
        rows.row(
                way,
                perBin(rows, outcome.passed()),
                perBin(rows, outcome.denied()),
                String.format(Locale.ROOT, "%.1f %% denied", share),
                "at most " + MostInASecond.of(outcome.passed()) + " in a second");
    }

    private static int[] perBin(BarRows rows, List<Duration> times) {
        int[] bins = rows.newBins();
        times.forEach(at -> bins[rows.binOf(at)]++);
        return bins;
    }
}
