package io.github.reactorratelimit.local;

import static io.github.reactorratelimit.local.Tables.KEY;
import static io.github.reactorratelimit.local.Tables.at;
import static io.github.reactorratelimit.local.Tables.gcra;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.Policies;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.algorithm.Reading;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class KeyTableTest {

    private static final String OTHER = "other";
    private static final long BURST = 5;
    private static final long INTERVAL = 10;

    private final KeyTable table = Tables.of(gcra(INTERVAL, BURST), 10);

    static List<RateLimitPolicy> policies() {
        return Tables.smallPolicies();
    }

    @Test
    void bothFormsOfDebitAnswerAlike() {
        assertThat(Tables.tryDebit(table, KEY, 0, 4)).isZero();
        assertThat(table.debit(KEY, 0, 1)).isEqualTo(new Reading(gcra(INTERVAL, BURST), 0, 0, 50, INTERVAL));
        assertThat(Tables.tryDebit(table, KEY, 3, 1)).isEqualTo(7);
        assertThat(table.debit(KEY, 3, 1)).isEqualTo(new Reading(gcra(INTERVAL, BURST), 0, 7, 47, Algorithm.UNKNOWN));
        assertThat(Tables.tryDebit(table, KEY, 10, 1)).isZero();
    }

    @ParameterizedTest
    @MethodSource("policies")
    void lookingTakesNothingAndInsertsNothing(RateLimitPolicy policy) {
        KeyTable looked = Tables.of(policy, 10);
        for (int i = 0; i < 3; i++) {
            assertThat(looked.read(KEY, 100, 1).allowed()).isTrue();
            assertThat(looked.waitTicks(KEY, 100, 1)).isZero();
            assertThat(looked.projection(KEY, 100).preview(100, 1)).isEqualTo(100);
        }
        looked.refund(KEY, at(100), 100, 1);
        looked.reset(KEY, () -> 100);
        assertThat(Tables.cells(looked).size()).isZero();
        assertThat(looked.debit(KEY, 100, 1).allowed()).isTrue();
        assertThat(Tables.cells(looked).size()).isOne();
    }

    @ParameterizedTest
    @MethodSource("policies")
    void lookingTellsWhatADebitWouldAnswer(RateLimitPolicy policy) {
        KeyTable looked = Tables.of(policy, 10);
        for (int i = 0; i < 10; i++) {
            long wait = looked.waitTicks(KEY, 100, 1);
            assertThat(looked.read(KEY, 100, 1).waitTicks()).isEqualTo(wait);
            long granted = wait == Algorithm.UNKNOWN ? wait : 100 + wait;
            assertThat(looked.projection(KEY, 100).preview(100, 1)).isEqualTo(granted);
            assertThat(Tables.tryDebit(looked, KEY, 100, 1)).isEqualTo(wait);
        }
        assertThat(looked.waitTicks(KEY, 100, 1)).isPositive();
    }

    @Test
    void chargeTakesAsManyAsAreThere() {
        table.overdraw(KEY, 0, 3, 0);
        assertThat(table.read(KEY, 0, 1).remaining()).isEqualTo(2);
        table.overdraw(KEY, 0, 1_000, 0);
        assertThat(table.read(KEY, 0, 1).remaining()).isZero();
        table.overdraw(KEY, 0, 1, 0);
        assertThat(table.waitTicks(KEY, 0, 1)).isEqualTo(INTERVAL);
    }

    @Test
    void refundGivesBackOnlyWhatIsStillThere() {
        Tables.tryDebit(table, KEY, 0, 4);
        table.refund(KEY, at(5), 0, 2);
        assertThat(table.read(KEY, 5, 1).remaining()).isEqualTo(3);
        table.refund(KEY, at(40), 0, 2);
        assertThat(Tables.tryDebit(table, KEY, 40, 5)).isZero();
    }

    static List<RateLimitPolicy> policiesOfBothKindsOfCells() {
        return List.of(gcra(INTERVAL, BURST), Policies.all(gcra(INTERVAL, BURST), gcra(1, 1_000)));
    }

    /** Another thread's debits come between the first look at the clock and the swap. */
    @ParameterizedTest
    @MethodSource("policiesOfBothKindsOfCells")
    void refundCountsAsOfATimeNotBeforeTheDebitsItFinds(RateLimitPolicy policy) {
        KeyTable raced = Tables.of(policy, 10);
        Tables.tryDebit(raced, KEY, 900, 1);
        AtomicBoolean late = new AtomicBoolean();
        LongSupplier clock = () -> {
            if (late.compareAndSet(false, true)) {
                assertThat(Tables.tryDebit(raced, KEY, 1_000, BURST)).isZero();
                return 900;
            }
            return 1_000;
        };
        raced.refund(KEY, clock, 900, 1);
        assertThat(raced.read(KEY, 1_000, 1).waitTicks()).isEqualTo(INTERVAL);
    }

    @Test
    void refundAsOfATimeBeforeTheLastDebitsLeavesThem() {
        Tables.tryDebit(table, KEY, 900, 1);
        Tables.tryDebit(table, KEY, 1_000, BURST);
        table.refund(KEY, at(900), 900, 1);
        assertThat(table.read(KEY, 1_000, 1).remaining()).isLessThanOrEqualTo(1);
    }

    @Test
    void resetForgetsWhatWasSpent() {
        Tables.tryDebit(table, KEY, 0, 5);
        table.reset(KEY, () -> 1);
        assertThat(Tables.tryDebit(table, KEY, 1, 5)).isZero();
        assertThat(Tables.cells(table).size()).isOne();
    }

    @Test
    void debitFromBeforeTheResetIsNotRefunded() {
        Tables.tryDebit(table, KEY, 0, 2);
        table.reset(KEY, () -> 1);
        Tables.tryDebit(table, KEY, 2, 5);
        table.refund(KEY, at(2), 0, 2);
        assertThat(table.read(KEY, 2, 1).remaining()).isZero();
        table.refund(KEY, at(2), 2, 5);
        assertThat(table.read(KEY, 2, 1).remaining()).isEqualTo(BURST);
    }

    @Test
    void debitFromTheTickOfTheResetIsNotRefunded() {
        Tables.tryDebit(table, KEY, 1, 2);
        table.reset(KEY, () -> 1);
        Tables.tryDebit(table, KEY, 1, 5);
        table.refund(KEY, at(1), 1, 2);
        assertThat(table.read(KEY, 1, 1).remaining()).isZero();
    }

    @Test
    void boundMustBePositive() {
        assertThatThrownBy(() -> Tables.of(gcra(1, 1), 0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("maxKeys must be positive, was 0");
    }

    @Test
    void refilledKeysAreForgottenForNewOnesAndOthersAreKept() {
        KeyTable small = Tables.of(gcra(INTERVAL, BURST), 100);
        for (int i = 0; i < 100; i++) {
            Tables.tryDebit(small, "old" + i, 0, i % 2 == 0 ? 1 : 5);
        }
        for (int i = 0; i < 50; i++) {
            assertThat(Tables.tryDebit(small, "new" + i, 20, 5)).isZero();
            assertThat(Tables.cells(small).size()).isBetween(51, 100);
        }
        for (int i = 1; i < 100; i += 2) {
            assertThat(small.read("old" + i, 20, 1).remaining()).isEqualTo(2);
        }
        for (int i = 0; i < 50; i++) {
            assertThat(small.read("new" + i, 20, 1).remaining()).isZero();
        }
    }

    @Test
    void keyFloodDoesNotMakeAVictimForgotten() {
        KeyTable small = Tables.of(gcra(1_000_000, 3), 100);
        Tables.tryDebit(small, "victim", 0, 3);
        long granted = 0;
        for (int i = 0; i < 100_000; i++) {
            Tables.tryDebit(small, "flood" + i, i, 1);
            granted += Tables.tryDebit(small, "victim", i, 1) == 0 ? 1 : 0;
            assertThat(Tables.cells(small).size()).isLessThanOrEqualTo(100);
        }
        assertThat(granted).isZero();
        assertThat(small.waitTicks("victim", 100_000, 1)).isEqualTo(900_000);
    }

    @Test
    void keysPastTheBoundShareCellsAndAreLimitedTogether() {
        KeyTable small = Tables.of(gcra(1_000, 1), 1);
        int granted = 0;
        for (int i = 0; i < 1_000_000; i++) {
            granted += Tables.tryDebit(small, "flood" + i, 1, 1) == 0 ? 1 : 0;
        }
        assertThat(granted).isBetween(65_000, 65_537);
        assertThat(Tables.cells(small).size()).isOne();
    }

    @Test
    void keyThatEntersInheritsItsOverflowCell() {
        KeyTable small = Tables.of(gcra(INTERVAL, BURST), 1);
        Tables.tryDebit(small, OTHER, 0, 1);
        assertThat(Tables.tryDebit(small, KEY, 0, 4)).isZero();
        assertThat(small.read(KEY, 10, 1).remaining()).isEqualTo(2);
        assertThat(Tables.tryDebit(small, KEY, 10, 1)).isZero();
        assertThat(small.read(OTHER, 10, 1).remaining()).isEqualTo(BURST);
        assertThat(small.read(KEY, 10, 1).remaining()).isOne();
        assertThat(small.projection(KEY, 10).preview(10, 2)).isEqualTo(20);
        Tables.tryDebit(small, KEY, 1_000, 5);
        assertThat(small.read(KEY, 1_000, 1).remaining())
                .as("once in the table, on its own")
                .isZero();
    }

    @Test
    void resetKeyOfAnOverflowCellGetsAStateOfItsOwnIfThereIsRoom() {
        KeyTable small = Tables.of(gcra(INTERVAL, BURST), 1);
        Tables.tryDebit(small, OTHER, 0, 5);
        Tables.tryDebit(small, KEY, 0, 5);
        small.reset(KEY, () -> 1);
        assertThat(small.waitTicks(KEY, 1, 1)).as("no room").isEqualTo(9);
        small.reset(OTHER, () -> 1);
        small.reset(KEY, () -> 1);
        assertThat(Tables.tryDebit(small, KEY, 1, 5)).as("room").isZero();
        assertThat(Tables.cells(small).size()).isOne();
    }

    @Test
    void refundOfAnOverflowDebitIsLostToTheStrictSide() {
        KeyTable small = Tables.of(gcra(INTERVAL, BURST), 1);
        Tables.tryDebit(small, OTHER, 0, 5);
        Tables.tryDebit(small, KEY, 0, 5);
        small.refund(KEY, at(0), 0, 5);
        assertThat(small.waitTicks(KEY, 0, 1)).isEqualTo(INTERVAL);
    }

    @Test
    void chargePastTheBoundTakesFromTheOverflowCell() {
        KeyTable small = Tables.of(gcra(INTERVAL, BURST), 1);
        Tables.tryDebit(small, OTHER, 0, 5);
        small.overdraw(KEY, 0, 100, 0);
        assertThat(small.waitTicks(KEY, 0, 1)).isEqualTo(INTERVAL);
    }

    @Test
    void clockReadingFromBeforeTheForgettingCountsAsTheTimeOfForgetting() {
        KeyTable small = Tables.of(gcra(100, 1), 1);
        assertThat(Tables.tryDebit(small, KEY, 0, 1)).isZero();
        assertThat(Tables.tryDebit(small, OTHER, 100, 1)).isZero();
        assertThat(Tables.tryDebit(small, KEY, 99, 1)).as("forgotten at 100").isZero();
        assertThat(Tables.tryDebit(small, KEY, 199, 1))
                .as("debited as of 100, not 99")
                .isEqualTo(1);
        assertThat(small.waitTicks(KEY, 98, 1)).isEqualTo(102);
        assertThat(Tables.tryDebit(small, KEY, 200, 1)).isZero();
    }

    @Test
    void freshCellIsDebitedNoEarlierThanTheForgetting() {
        KeyTable small = Tables.of(gcra(100, 1), 2);
        Tables.tryDebit(small, KEY, 0, 1);
        Tables.tryDebit(small, OTHER, 0, 1);
        Tables.tryDebit(small, "third", 100, 1);
        assertThat(Tables.tryDebit(small, KEY, 99, 1)).isZero();
        assertThat(Tables.cells(small).size()).isEqualTo(2);
        assertThat(Tables.tryDebit(small, KEY, 199, 1)).isEqualTo(1);
    }

    @Test
    void permitsInFlightComeBackToWhereTheyWereTaken() {
        KeyTable small = Tables.of(ConcurrencyLimit.of(3), 1);
        Tables.tryDebit(small, OTHER, 0, 1);
        assertThat(Tables.tryDebit(small, KEY, 0, 3)).isZero();
        small.refund(OTHER, at(1), 0, 1);
        assertThat(Tables.tryDebit(small, KEY, 2, 1))
                .as("in flight past the bound")
                .isEqualTo(Algorithm.UNKNOWN);
        small.refund(KEY, at(3), 0, 2);
        assertThat(Tables.tryDebit(small, KEY, 4, 2)).isZero();
        small.refund(KEY, at(5), 4, 2);
        small.refund(KEY, at(5), 0, 1);
        assertThat(Tables.tryDebit(small, KEY, 6, 3)).isZero();
        assertThat(Tables.tryDebit(small, KEY, 6, 1)).isEqualTo(Algorithm.UNKNOWN);
    }

    @Test
    void permitsInFlightAreNeitherResetNorCharged() {
        KeyTable small = Tables.of(ConcurrencyLimit.of(3), 1);
        Tables.tryDebit(small, KEY, 0, 2);
        small.reset(KEY, () -> 1);
        small.overdraw(KEY, 1, 1, 0);
        assertThat(small.read(KEY, 1, 1).remaining()).isOne();
    }
}
