package io.github.reactorratelimit.local;

import static io.github.reactorratelimit.local.Tables.at;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.algorithm.Algorithms;
import io.github.reactorratelimit.local.Cell.Shared;
import java.util.Objects;
import org.junit.jupiter.api.Test;

class EvictorTest {

    private static final long REFILLED_AT = 100;

    private final Shared<Long> shared = new Shared<>(
            Algorithms.asLong(Tables.gcra(REFILLED_AT, 1), Tables.CLOCK).orElseThrow(),
            EvictionHorizon.of(Tables.gcra(REFILLED_AT, 1), Tables.CLOCK));
    private final LongCell fresh = new LongCell("", 0);
    private final CellMap<Long> cells = new CellMap<>(LongCell::new, 1_000);
    private final Evictor<Long> evictor = new Evictor<>(cells, shared);

    private Cell<Long> found(String key) {
        return Objects.requireNonNull(cells.find(key));
    }

    private void addSpent(int count, long at) {
        for (int i = 0; i < count; i++) {
            String key = "at" + at + "-" + i;
            assertThat(cells.enter(key)).isTrue();
            found(key).begin(shared, fresh);
            assertThat(found(key).tryTake(shared, at, 1)).isEqualTo(Cell.Outcome.TAKEN);
            while (cells.needsRehash()) {
                cells.rehash(cell -> false);
            }
        }
    }

    @Test
    void oneCallVisitsABoundedNumberOfSlots() {
        addSpent(1_000, 0);
        evictor.evict(REFILLED_AT);
        assertThat(cells.size()).isBetween(900, 999);
        for (int i = 0; i < cells.buckets() / 32 - 1; i++) {
            evictor.evict(REFILLED_AT);
        }
        assertThat(cells.size()).isZero();
    }

    @Test
    void whatIsNotRefilledStays() {
        addSpent(20, 0);
        addSpent(10, 50);
        evictor.evict(REFILLED_AT);
        assertThat(cells.size()).isEqualTo(10);
    }

    @Test
    void afterAFruitlessRoundSweepsAgainWhenTheFirstStateIsRefilled() {
        addSpent(20, 0);
        addSpent(10, 50);
        evictor.evict(REFILLED_AT - 1);
        assertThat(cells.size()).isEqualTo(30);
        evictor.evict(REFILLED_AT);
        assertThat(cells.size()).isEqualTo(10);
    }

    @Test
    void wakesUpForWhatWasRefunded() {
        addSpent(20, 0);
        evictor.evict(1);
        found("at0-3").refund(shared, at(1), 0, 1);
        evictor.evict(2);
        assertThat(cells.size()).isEqualTo(20);
        evictor.wake();
        evictor.evict(2);
        assertThat(cells.size()).isEqualTo(19);
    }

    @Test
    void wakesUpForWhatWasRefundedBehindTheCursor() {
        addSpent(40, 0);
        Cell<Long> first = found(cells.keys().next());
        evictor.evict(1);
        first.refund(shared, at(1), 0, 1);
        evictor.wake();
        for (int i = 0; i < 200; i++) {
            evictor.evict(2);
        }
        assertThat(cells.size()).isEqualTo(39);
    }

    @Test
    void roundThatSawOnlyEnteringKeysIsNotTheLast() {
        assertThat(cells.enter("key")).isTrue();
        evictor.evict(1);
        assertThat(cells.size()).isOne();
        found("key").begin(shared, fresh);
        evictor.evict(2);
        assertThat(cells.size()).isZero();
    }

    @Test
    void fruitlessCallsBecomeRarer() {
        addSpent(500, 0);
        addSpent(500, 50);
        for (int i = 0; i < 100; i++) {
            evictor.evict(1);
        }
        int calls = 0;
        while (cells.size() == 1_000 && calls < 100) {
            evictor.evict(REFILLED_AT);
            calls++;
        }
        assertThat(calls).isBetween(2, 32);
        for (int i = 0; i < 200; i++) {
            evictor.evict(REFILLED_AT);
        }
        assertThat(cells.size()).isEqualTo(500);
    }

    @Test
    void keyThatEntersTwiceTakesOnePlace() {
        assertThat(cells.enter("key")).isTrue();
        Cell<Long> entering = found("key");
        assertThat(cells.enter("key")).isTrue();
        assertThat(cells.size()).isOne();
        entering.begin(shared, fresh);
        assertThat(entering.swapDead(null)).as("it has begun").isFalse();
        assertThat(entering.kill()).isTrue();
        cells.restart("key", created -> created.begin(shared, fresh));
        assertThat(cells.size()).isOne();
        evictor.evict(1);
        assertThat(cells.size()).isZero();
    }
}
