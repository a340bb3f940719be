package io.github.reactorratelimit.local;

import static io.github.reactorratelimit.local.Tables.at;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.algorithm.Algorithms;
import io.github.reactorratelimit.local.Cell.Shared;
import java.util.Objects;
import org.junit.jupiter.api.Test;

class EvictorTest {

    private static final long REFILLED_AT = 100;

    private final Shared<Long> shared = Shared.of(
            Algorithms.asLong(Tables.gcra(REFILLED_AT, 1), Tables.CLOCK).orElseThrow(),
            EvictionHorizon.of(Tables.gcra(REFILLED_AT, 1), Tables.CLOCK));
    private final MapSlots<Long> slots = new MapSlots<>(shared, 1_000);
    private final Evictor evictor = slots.evictor();

    private Cell<Long> found(String key) {
        return Objects.requireNonNull(slots.find(key));
    }

    private void addSpent(int count, long at) {
        for (int i = 0; i < count; i++) {
            String key = "at" + at + "-" + i;
            assertThat(slots.enter(key)).isTrue();
            slots.begin(key, found(key), ObjectCell.fresh(shared));
            assertThat(slots.tryTake(key, at, 1)).isEqualTo(Cell.Outcome.TAKEN);
        }
    }

    @Test
    void oneCallVisitsABoundedNumberOfSlots() {
        addSpent(1_000, 0);
        evictor.evict(REFILLED_AT);
        assertThat(slots.size()).isEqualTo(968);
        for (int i = 0; i < 31; i++) {
            evictor.evict(REFILLED_AT);
        }
        assertThat(slots.size()).isZero();
    }

    @Test
    void whatIsNotRefilledStays() {
        addSpent(20, 0);
        addSpent(10, 50);
        evictor.evict(REFILLED_AT);
        assertThat(slots.size()).isEqualTo(10);
    }

    @Test
    void afterAFruitlessRoundSweepsAgainWhenTheFirstStateIsRefilled() {
        addSpent(20, 0);
        addSpent(10, 50);
        evictor.evict(REFILLED_AT - 1);
        assertThat(slots.size()).isEqualTo(30);
        evictor.evict(REFILLED_AT);
        assertThat(slots.size()).isEqualTo(10);
    }

    @Test
    void wakesUpForWhatWasRefunded() {
        addSpent(20, 0);
        evictor.evict(1);
        found("at0-3").refund(at(1), 0, 1);
        evictor.evict(2);
        assertThat(slots.size()).isEqualTo(20);
        evictor.wake();
        evictor.evict(2);
        assertThat(slots.size()).isEqualTo(19);
    }

    @Test
    void wakesUpForWhatWasRefundedBehindTheCursor() {
        addSpent(40, 0);
        Cell<Long> first = found(slots.keys().next());
        evictor.evict(1);
        first.refund(at(1), 0, 1);
        evictor.wake();
        for (int i = 0; i < 200; i++) {
            evictor.evict(2);
        }
        assertThat(slots.size()).isEqualTo(39);
    }

    @Test
    void roundThatSawOnlyEnteringKeysIsNotTheLast() {
        slots.enter("key");
        evictor.evict(1);
        assertThat(slots.size()).isOne();
        slots.begin("key", found("key"), ObjectCell.fresh(shared));
        evictor.evict(2);
        assertThat(slots.size()).isZero();
    }

    @Test
    void fruitlessCallsBecomeRarer() {
        addSpent(500, 0);
        addSpent(500, 50);
        for (int i = 0; i < 100; i++) {
            evictor.evict(1);
        }
        int calls = 0;
        while (slots.size() == 1_000 && calls < 100) {
            evictor.evict(REFILLED_AT);
            calls++;
        }
        assertThat(calls).isBetween(2, 32);
        for (int i = 0; i < 200; i++) {
            evictor.evict(REFILLED_AT);
        }
        assertThat(slots.size()).isEqualTo(500);
    }

    @Test
    void cellThatWasReplacedFreesNoPlace() {
        assertThat(slots.enter("key")).isTrue();
        Cell<Long> entering = found("key");
        assertThat(slots.enter("key")).isTrue();
        assertThat(slots.size()).isOne();
        slots.begin("key", entering, ObjectCell.fresh(shared));
        slots.leave("key", entering);
        assertThat(slots.size()).isOne();
        slots.leave("key", found("key"));
        assertThat(slots.size()).isZero();
    }
}
