package io.github.reactorratelimit.hotkeys;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.testing.Seeds;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** Summaries with room for 16 of 60 hashes, beside exact counts. */
class SummaryTest {

    private static final boolean FULL = Boolean.getBoolean("ratelimit.tests.full");
    private static final int HISTORIES = FULL ? 20_000 : 500;
    private static final int HASHES = 60;

    @Test
    void trueCountsLieWithinTheBoundsOfSeveralSummariesTogether() {
        SplittableRandom random = new SplittableRandom(Seeds.of("summaries"));
        long inexact = 0;
        for (int i = 0; i < HISTORIES; i++) {
            long[] exact = new long[HASHES];
            List<Summary> summaries = new ArrayList<>();
            for (int n = 1 + random.nextInt(3); n > 0; n--) {
                summaries.add(history(random, exact));
            }
            for (HotKey key : Summary.heaviest(summaries, HASHES, 0)) {
                int number = (int) (Long.parseUnsignedLong(key.hash(), 16) >>> 32) - 1;
                assertThat(exact[number]).as("%s", key).isBetween(key.atLeast(), key.atMost());
                inexact += key.atLeast() < key.atMost() ? 1 : 0;
            }
        }
        assertThat(inexact).isPositive();
    }

    private static Summary history(SplittableRandom random, long[] exact) {
        Summary summary = new Summary(16);
        for (int step = 0; step < 200; step++) {
            int number = (int) Math.exp(random.nextDouble() * Math.log(HASHES));
            long weight = 1 + random.nextInt(3);
            summary.add(hash(number), weight);
            exact[number] += weight;
        }
        return summary;
    }

    private static long hash(int number) {
        return (long) (number + 1) << 32;
    }

    @Test
    void heaviestComeFirstAndWhatWasMissedMayBeAnybodys() {
        Summary summary = new Summary(16);
        summary.add(hash(1), 3);
        summary.add(hash(2), 7);
        summary.add(0, 5);
        assertThat(Summary.heaviest(List.of(summary), 2, 4))
                .containsExactly(
                        new HotKey(HexFormat.of().toHexDigits(hash(2)), 7, 11),
                        new HotKey(HexFormat.of().toHexDigits(1L), 5, 9));
    }
}
