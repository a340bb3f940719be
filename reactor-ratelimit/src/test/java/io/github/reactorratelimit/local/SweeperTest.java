package io.github.reactorratelimit.local;

import static io.github.reactorratelimit.local.Tables.at;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.algorithm.Algorithms;
import io.github.reactorratelimit.local.Slot.Entering;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

class SweeperTest {

    private static final long REFILLED_AT = 100;

    private final BoundedSlots slots = new BoundedSlots(1_000);
    private final Sweeper sweeper = new Sweeper(slots.hand(), new AtomicBoolean());
    private final Cell pristine = LongCell.fresh(
            Algorithms.asLong(Tables.gcra(REFILLED_AT, 1), Tables.CLOCK).orElseThrow(),
            Forgetting.of(Tables.gcra(REFILLED_AT, 1), Tables.CLOCK));

    private void addSpent(int count, long at) {
        for (int i = 0; i < count; i++) {
            Cell cell = pristine.copy();
            cell.tryDebit(at, 1);
            slots.add("at" + at + "-" + i, cell);
        }
    }

    @Test
    void oneCallVisitsABoundedNumberOfSlots() {
        addSpent(1_000, 0);
        sweeper.sweep(REFILLED_AT);
        assertThat(slots.size()).isEqualTo(968);
        for (int i = 0; i < 31; i++) {
            sweeper.sweep(REFILLED_AT);
        }
        assertThat(slots.size()).isZero();
    }

    @Test
    void whatIsNotRefilledStays() {
        addSpent(20, 0);
        addSpent(10, 50);
        sweeper.sweep(REFILLED_AT);
        assertThat(slots.size()).isEqualTo(10);
    }

    @Test
    void afterAFruitlessRoundSweepsAgainWhenTheFirstStateIsRefilled() {
        addSpent(20, 0);
        addSpent(10, 50);
        sweeper.sweep(REFILLED_AT - 1);
        assertThat(slots.size()).isEqualTo(30);
        sweeper.sweep(REFILLED_AT);
        assertThat(slots.size()).isEqualTo(10);
    }

    @Test
    void wakesUpForWhatWasGivenBack() {
        addSpent(20, 0);
        sweeper.sweep(1);
        Slot slot = slots.get("at0-3");
        assertThat(slot).isInstanceOf(LongCell.class);
        ((Cell) slot).refund(at(1), 0, 1);
        sweeper.sweep(2);
        assertThat(slots.size()).isEqualTo(20);
        sweeper.wake();
        sweeper.sweep(2);
        assertThat(slots.size()).isEqualTo(19);
    }

    @Test
    void wakesUpForWhatWasGivenBackBehindTheHand() {
        addSpent(40, 0);
        Slot first = slots.iterator().next().getValue();
        sweeper.sweep(1);
        ((Cell) first).refund(at(1), 0, 1);
        sweeper.wake();
        for (int i = 0; i < 200; i++) {
            sweeper.sweep(2);
        }
        assertThat(slots.size()).isEqualTo(39);
    }

    @Test
    void roundThatSawOnlyEnteringKeysIsNotTheLast() {
        Entering entering = new Entering();
        slots.add("key", entering);
        sweeper.sweep(1);
        slots.replace("key", entering, pristine.copy());
        sweeper.sweep(2);
        assertThat(slots.size()).isZero();
    }

    @Test
    void fruitlessCallsBecomeRarer() {
        addSpent(500, 0);
        addSpent(500, 50);
        for (int i = 0; i < 100; i++) {
            sweeper.sweep(1);
        }
        int calls = 0;
        while (slots.size() == 1_000 && calls < 100) {
            sweeper.sweep(REFILLED_AT);
            calls++;
        }
        assertThat(calls).isBetween(2, 32);
        for (int i = 0; i < 200; i++) {
            sweeper.sweep(REFILLED_AT);
        }
        assertThat(slots.size()).isEqualTo(500);
    }

    @Test
    void removingASlotThatWasReplacedFreesNoPlace() {
        Entering first = new Entering();
        Entering second = new Entering();
        assertThat(slots.add("key", first)).isTrue();
        assertThat(slots.add("key", second)).isFalse();
        assertThat(slots.replace("key", first, second)).isTrue();
        slots.remove("key", first);
        assertThat(slots.size()).isOne();
        slots.remove("key", second);
        assertThat(slots.size()).isZero();
    }
}
