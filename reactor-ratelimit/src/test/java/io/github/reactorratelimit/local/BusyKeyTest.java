package io.github.reactorratelimit.local;

import static io.github.reactorratelimit.local.Tables.KEY;
import static io.github.reactorratelimit.local.Tables.gcra;
import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A key that becomes hot because it is asked for very often, by one thread. */
class BusyKeyTest {

    private static final long INTERVAL = 10;
    private static final long BURST = 1_000_000;
    private static final int STRIPES = 2;
    private static final long BATCH = 8;
    private static final long RESERVE = STRIPES * BATCH;
    private static final long OFTEN_NANOS = 40;
    private static final int ENOUGH_ASKS = 2 * BusyKeys.DEBITS_PER_SAMPLE * BusyKeys.SAMPLES_TO_OPEN;
    private static final long IDLE_NANOS = Duration.ofMillis(20).toNanos();

    private long now;
    private long readings;
    private final StripedTable table =
            new StripedTable(Tables.of(gcra(INTERVAL, BURST), 100), this::readClock, key -> {}, STRIPES, BATCH);

    private long readClock() {
        readings++;
        return now;
    }

    private boolean take(String key) {
        return table.takePrepaid(key, 1) || table.tryDebit(key, readClock(), 1) == 0;
    }

    private long takeAll(String key) {
        long taken = 0;
        while (take(key)) {
            taken++;
        }
        return taken;
    }

    private void ask(String key, int times, long everyNanos) {
        for (int i = 0; i < times; i++) {
            now += everyNanos;
            assertThat(take(key)).isTrue();
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 7, 40, 100, 500})
    void keyThatOneThreadAsksForVeryOftenBecomesHot(long everyNanos) {
        ask(KEY, ENOUGH_ASKS, everyNanos);
        assertThat(table.isHot(KEY)).isTrue();
    }

    @Test
    void clockThatCountsMicrosecondsIsGoodEnough() {
        for (int i = 0; i < 100 && !table.isHot(KEY); i++) {
            now += 1_000;
            ask(KEY, 25, 0);
        }
        assertThat(table.isHot(KEY)).isTrue();
    }

    @ParameterizedTest
    @ValueSource(longs = {5_000, 10_000, 99_999, 1_000_000, 1 << 20})
    void keyThatIsAskedForSeldomStaysAsItIs(long everyNanos) {
        for (int i = 0; i < 20_000; i++) {
            ask(KEY, 1, everyNanos);
            assertThat(table.isHot(KEY)).isFalse();
        }
    }

    @Test
    void keysOfWhichNoneIsAskedForMoreThanTheOthersStayAsTheyAre() {
        for (int i = 0; i < 100_000; i++) {
            String key = "key " + i % 97;
            ask(key, 1, OFTEN_NANOS);
            assertThat(table.isHot(key)).isFalse();
        }
    }

    @Test
    void busyKeyAmongManyOthersBecomesHot() {
        for (int i = 0; i < 2 * ENOUGH_ASKS; i++) {
            ask(i % 2 == 0 ? KEY : "key " + i % 97, 1, OFTEN_NANOS);
        }
        assertThat(table.isHot(KEY)).isTrue();
    }

    @Test
    void clockIsReadOncePerBatch() {
        ask(KEY, ENOUGH_ASKS, OFTEN_NANOS);
        readings = 0;
        ask(KEY, 10_000, OFTEN_NANOS);
        // One by the asker who finds its stripe empty, one by the batch.
        assertThat(readings).isLessThanOrEqualTo(2 * (10_000 / BATCH + 1));
    }

    @Test
    void busyKeyGivesTheWholeBurstAndNoMore() {
        assertThat(takeAll(KEY)).isEqualTo(BURST);
        assertThat(readings).isLessThan(BURST / 2);
        assertThat(table.isHot(KEY)).isFalse();
    }

    @Test
    void keyThatWasLeftAloneHasAllButTheReserveAtOnceAndAllOnceItWasClosed() {
        ask(KEY, ENOUGH_ASKS, OFTEN_NANOS);
        now += BURST * INTERVAL + IDLE_NANOS;
        assertThat(takeAll(KEY)).isBetween(BURST - RESERVE, BURST);
        now += BURST * INTERVAL + IDLE_NANOS;
        assertThat(table.isHot(KEY)).isFalse();
        assertThat(table.read(KEY, now, 1).remaining()).isEqualTo(BURST);
    }

    @Test
    void placeOfAKeyThatWasLeftAloneGoesToOneThatIsBusy() {
        String other = IntStream.range(0, 1_000)
                .mapToObj(i -> "other " + i)
                .filter(key -> HotKeys.place(key) == HotKeys.place(KEY))
                .findFirst()
                .orElseThrow();
        ask(KEY, ENOUGH_ASKS, OFTEN_NANOS);
        ask(other, ENOUGH_ASKS, OFTEN_NANOS);
        assertThat(table.isHot(other)).isFalse();
        now += IDLE_NANOS;
        ask(other, 2 * ENOUGH_ASKS, OFTEN_NANOS);
        assertThat(table.isHot(KEY)).isFalse();
        assertThat(table.isHot(other)).isTrue();
    }

    @Test
    void deniedAsksDoNotMakeAKeyHot() {
        while (table.tryDebit(KEY, now, 1_000) == 0) {}
        for (int i = 0; i < 10 * ENOUGH_ASKS; i++) {
            take(KEY);
            assertThat(table.isHot(KEY)).isFalse();
        }
    }
}
