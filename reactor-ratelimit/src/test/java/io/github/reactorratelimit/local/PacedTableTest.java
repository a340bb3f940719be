package io.github.reactorratelimit.local;

import static java.time.Duration.ofMillis;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.TokenBucket;
import org.junit.jupiter.api.Test;

class PacedTableTest {

    private static final long INTERVAL = 1_000_000;
    private static final LeakyBucket BUCKET = LeakyBucket.of(1, ofMillis(1));

    private final KeyTable table = PacedTable.over(Tables.of(BUCKET, 10), BUCKET);

    private void grant(String key, long slot) {
        assertThat(table.debit(key, slot, 1).allowed()).isTrue();
    }

    @Test
    void onlySlotsThatStandStillHaveABeat() {
        KeyTable strict = Tables.of(BUCKET.strictSpacing(), 10);
        assertThat(PacedTable.over(strict, BUCKET.strictSpacing())).isSameAs(strict);
        KeyTable bucket = Tables.of(TokenBucket.perSecond(1), 10);
        assertThat(PacedTable.over(bucket, TokenBucket.perSecond(1))).isSameAs(bucket);
    }

    @Test
    void tellingsOutOfOrderCountForTheLastSlotOnly() {
        grant("k", 0);
        grant("k", INTERVAL);
        table.told("k", INTERVAL, () -> 10 * INTERVAL);
        table.told("k", 0, () -> 10 * INTERVAL);
        assertThat(table.arrival("k", 11 * INTERVAL)).isEqualTo(2 * INTERVAL);
        long late = 11 * INTERVAL + 1;
        assertThat(table.arrival("k", late)).isEqualTo(late);
    }

    @Test
    void keysThatShareACellDoNotShareTheirLateness() {
        assertThat("Aa".hashCode()).isEqualTo("BB".hashCode());
        grant("Aa", 0);
        grant("BB", 0);
        table.told("Aa", 0, () -> 9 * INTERVAL);
        table.told("BB", 0, () -> 9 * INTERVAL);
        assertThat(table.arrival("Aa", 9 * INTERVAL)).isEqualTo(9 * INTERVAL);
        assertThat(table.arrival("BB", 9 * INTERVAL)).isEqualTo(INTERVAL);
    }

    @Test
    void resetKeyHasNothingToMakeUpFor() {
        grant("k", 0);
        table.told("k", 0, () -> 5 * INTERVAL);
        table.reset("k", () -> 5 * INTERVAL);
        assertThat(table.arrival("k", 5 * INTERVAL)).isEqualTo(5 * INTERVAL);
    }
}
