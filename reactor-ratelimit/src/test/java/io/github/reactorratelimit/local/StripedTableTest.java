package io.github.reactorratelimit.local;

import static io.github.reactorratelimit.local.Tables.KEY;
import static io.github.reactorratelimit.local.Tables.gcra;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.Policies;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.SlidingWindowCounter;
import io.github.reactorratelimit.TokenBucket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** A hot key, one step after the other; what happens in the middle of a step is made to happen there. */
class StripedTableTest {

    private static final long INTERVAL = 10;
    private static final long BURST = 512;
    private static final int STRIPES = 2;
    private static final long BATCH = 8;
    private static final long RESERVE = STRIPES * BATCH;

    /** Long enough for the reserve to flow back. */
    private static final long LATER = RESERVE * INTERVAL;

    private long now;
    private Runnable whenClockIsRead = () -> {};
    private final InterposedTable inner = new InterposedTable(Tables.of(gcra(INTERVAL, BURST), 10));
    private final List<String> cameBack = new ArrayList<>();
    private final StripedTable table = new StripedTable(inner, this::readClock, cameBack::add, STRIPES, BATCH);

    private long readClock() {
        Runnable once = whenClockIsRead;
        whenClockIsRead = () -> {};
        once.run();
        return now;
    }

    private boolean take(long permits) {
        return table.takePrepaid(KEY, permits) || table.tryDebit(KEY, now, permits) == 0;
    }

    private long takeAll() {
        long taken = 0;
        while (take(1)) {
            taken++;
        }
        return taken;
    }

    private long remaining() {
        return table.read(KEY, now, 1).remaining();
    }

    @Test
    void hotKeyGivesTheWholeBurstAndNoMore() {
        table.open(KEY);
        assertThat(table.isHot(KEY)).isTrue();
        assertThat(takeAll()).isEqualTo(BURST);
        assertThat(table.isHot(KEY)).isFalse();
    }

    @Test
    void askInTheMiddleOfOpeningLosesNothing() {
        inner.beforeSettling(() -> assertThat(take(1)).isTrue());
        table.open(KEY);
        assertThat(takeAll()).isEqualTo(BURST - 1);
    }

    @Test
    void askInTheMiddleOfALongOpeningCountsTheReserveAsSpent() {
        inner.beforeSettling(() -> {
            now += LATER;
            assertThat(take(BURST - RESERVE + 1)).isFalse();
            assertThat(take(BURST - RESERVE)).isTrue();
        });
        table.open(KEY);
        assertThat(takeAll()).isZero();
    }

    @Test
    void prepaidPermitsNeedNoClock() {
        table.open(KEY);
        whenClockIsRead = () -> {
            throw new AssertionError("the clock was read");
        };
        for (int i = 0; i < BATCH; i++) {
            assertThat(table.takePrepaid(KEY, 1)).isTrue();
        }
        assertThat(table.takePrepaid(KEY, 1)).isFalse();
        assertThat(table.takePrepaid("other", 1)).isFalse();
    }

    @Test
    void hotKeyThatWasIdleGivesAllButTheReserveAndWhatIsInTheStripes() {
        table.open(KEY);
        take(BATCH);
        now += LATER;
        assertThat(takeAll()).isEqualTo(BURST - BATCH);
    }

    @Test
    void whatAnotherThreadLeftInItsStripeIsNotLost() throws InterruptedException {
        table.open(KEY);
        Thread other = new Thread(() -> table.takePrepaid(KEY, 1));
        other.start();
        other.join();
        assertThat(takeAll()).isEqualTo(BURST - 1);
    }

    @Test
    void readingsAreExact() {
        table.open(KEY);
        take(3);
        take(20);
        assertThat(remaining()).isEqualTo(BURST - 23);
        table.open(KEY);
        assertThat(table.waitTicks(KEY, now, BURST)).isEqualTo(23 * INTERVAL);
        table.open(KEY);
        assertThat(table.projection(KEY, now).preview(now, BURST)).isEqualTo(23 * INTERVAL);
    }

    @Test
    void allThatIsThereCanBeHadAtOnce() {
        table.open(KEY);
        take(3);
        assertThat(take(BURST - 2)).isFalse();
        table.open(KEY);
        assertThat(take(BURST - 3)).isTrue();
        assertThat(take(1)).isFalse();
    }

    @Test
    void decisionsWithReadingsAreExact() {
        table.open(KEY);
        take(3);
        assertThat(table.debit(KEY, now, 5).remaining()).isEqualTo(BURST - 8);
    }

    @Test
    void whatComesBackFromStripesIsTold() {
        table.open(KEY);
        take(3);
        assertThat(cameBack).isEmpty();
        remaining();
        assertThat(cameBack).containsExactly(KEY);
    }

    @Test
    void keysTakenAheadAreTakenOneByOneWhileHot() {
        table.open(KEY);
        assertThat(table.tryDebitUpTo(KEY, now, 2, 10)).isEqualTo(1);
        assertThat(table.isHot(KEY)).isTrue();
        assertThat(remaining()).isEqualTo(BURST - 2);
        assertThat(table.tryDebitUpTo(KEY, now, 2, 10)).isEqualTo(10);
        assertThat(remaining()).isEqualTo(BURST - 22);
    }

    @Test
    void takingAheadThatMissedTheOpeningIsMadeAgain() {
        inner.beforeDebit(() -> {
            now += LATER;
            table.open(KEY);
        });
        assertThat(table.tryDebitUpTo(KEY, now + LATER, 1, BURST)).isPositive();
        assertThat(takeAll()).isLessThanOrEqualTo(BURST - 1);
    }

    @Test
    void chargeAndResetAreExact() {
        table.open(KEY);
        take(3);
        table.charge(KEY, now, 10);
        assertThat(remaining()).isEqualTo(BURST - 13);
        table.open(KEY);
        table.reset(KEY, () -> now);
        assertThat(remaining()).isEqualTo(BURST);
        assertThat(takeAll()).isEqualTo(BURST);
    }

    @Test
    void refundIsExact() {
        table.debit(KEY, now, 100);
        table.open(KEY);
        take(3);
        table.refund(KEY, this::readClock, now, 100);
        assertThat(remaining()).isEqualTo(BURST - 3);
    }

    @Test
    void refundOfADebitThatFlowedBackGivesNothing() {
        table.debit(KEY, now, RESERVE);
        now += LATER;
        table.open(KEY);
        take(BATCH);
        table.refund(KEY, this::readClock, 0, RESERVE);
        assertThat(takeAll()).isEqualTo(BURST - BATCH);
    }

    /** The batch counts as of the time when the stripe was claimed, however late the thread is. */
    @Test
    void batchIsDebitedAsOfATimeReadAfterItsStripeWasMarked() {
        table.open(KEY);
        take(BATCH);
        now += LATER;
        assertThat(table.tryDebit(KEY, 0, 1)).isZero();
        assertThat(inner.read(KEY, now, 1).remaining()).isEqualTo(BURST - RESERVE - BATCH);
    }

    @Test
    void clockForClosingIsReadWhenAllStripesAreShut() {
        table.open(KEY);
        whenClockIsRead = () -> assertThat(table.takePrepaid(KEY, 1)).isFalse();
        assertThat(remaining()).isEqualTo(BURST);
    }

    @Test
    void keyThatBecomesHotInTheMiddleOfADebitGetsNoMore() {
        now = LATER;
        inner.beforeDebit(this::openedAgesAgo);
        long taken = take(5) ? 5 : 0;
        assertThat(table.isHot(KEY)).isTrue();
        assertThat(taken + takeAll()).isLessThanOrEqualTo(BURST).isGreaterThanOrEqualTo(BURST - RESERVE - 5);
    }

    @Test
    void keyThatBecomesHotInTheMiddleOfADecisionGetsNoMore() {
        now = LATER;
        inner.beforeDebit(this::openedAgesAgo);
        long taken = table.debit(KEY, now, 5).allowed() ? 5 : 0;
        assertThat(taken + takeAll()).isLessThanOrEqualTo(BURST);
    }

    @Test
    void keyThatBecomesHotInTheMiddleOfAChargeIsCharged() {
        now = LATER;
        inner.beforeDebit(this::openedAgesAgo);
        table.charge(KEY, now, 5);
        assertThat(takeAll()).isLessThanOrEqualTo(BURST - 5);
    }

    @Test
    void keyThatBecomesHotInTheMiddleOfAnOverdraftIsChargedOnce() {
        now = LATER;
        inner.beforeDebit(this::openedAgesAgo);
        assertThat(table.overdraw(KEY, now, 5 * RESERVE, BURST)).isZero();
        assertThat(remaining()).isEqualTo(BURST - 5 * RESERVE);
    }

    @Test
    void overdraftOfAHotKeyIsExact() {
        table.open(KEY);
        take(3);
        assertThat(table.overdraw(KEY, now, 2 * BURST, BURST)).isEqualTo(3);
        assertThat(remaining()).isZero();
    }

    /** Hot and cold again between the two looks: the place is not what it was. */
    @Test
    void keyThatWasHotInTheMiddleOfADebitGetsNoMore() {
        now = LATER;
        long[] taken = {0};
        inner.beforeDebit(this::openedAgesAgo);
        inner.afterDebit(() -> {
            taken[0] += table.takePrepaid(KEY, BATCH) ? BATCH : 0;
            remaining();
        });
        long mine = take(5) ? 5 : 0;
        assertThat(taken[0]).isEqualTo(BATCH);
        assertThat(mine + taken[0] + takeAll()).isLessThanOrEqualTo(BURST);
    }

    /** The second time is late enough for the debit, the first was not. */
    @Test
    void keyThatWasHotTwiceInTheMiddleOfADebitGetsNoMore() {
        now = LATER;
        long[] taken = {0};
        inner.beforeDebit(this::openedAgesAgo);
        inner.afterDebit(() -> {
            taken[0] += table.takePrepaid(KEY, BATCH) ? BATCH : 0;
            remaining();
            table.open(KEY);
        });
        long mine = take(5) ? 5 : 0;
        assertThat(taken[0]).isEqualTo(BATCH);
        assertThat(mine + taken[0] + takeAll()).isLessThanOrEqualTo(BURST);
    }

    private void openedAgesAgo() {
        long at = now;
        now = 0;
        table.open(KEY);
        now = at;
    }

    @Test
    void nothingIsLostIfTheKeyBecomesHotAtTheTimeOfADebit() {
        inner.beforeDebit(() -> table.open(KEY));
        assertThat(take(5)).isTrue();
        assertThat(takeAll()).isEqualTo(BURST - 5);
    }

    @Test
    void batchOfAKeyThatIsClosedMeanwhileGoesBack() {
        take(RESERVE);
        table.open(KEY);
        inner.beforeDebit(this::remaining);
        assertThat(take(1)).isTrue();
        assertThat(table.isHot(KEY)).isFalse();
        assertThat(takeAll()).isEqualTo(BURST - RESERVE - 1);
    }

    /** While another thread closes the key, its state is not to be debited the plain way. */
    @Test
    void debitsInTheMiddleOfClosingCountTheReserve() {
        table.open(KEY);
        now = LATER;
        long[] taken = {take(BATCH) ? BATCH : 0};
        whenClockIsRead = () -> {
            taken[0] += table.debit(KEY, now, 5).allowed() ? 5 : 0;
            taken[0] += take(5) ? 5 : 0;
        };
        remaining();
        assertThat(taken[0]).isEqualTo(BATCH + 10);
        assertThat(taken[0] + takeAll()).isLessThanOrEqualTo(BURST);
    }

    @Test
    void keyThatIsHotNoLongerIsClosedByTheNextBatch() {
        table.open(KEY);
        take(BATCH);
        now += Duration.ofSeconds(1).toNanos();
        assertThat(take(1)).isTrue();
        assertThat(table.isHot(KEY)).isFalse();
        now += LATER + INTERVAL;
        assertThat(remaining()).isEqualTo(BURST);
    }

    @Test
    void keyThatHasLittleLeftIsNotOpened() {
        take(BURST - 3 * RESERVE);
        table.open(KEY);
        assertThat(table.isHot(KEY)).isFalse();
    }

    /** Others share its state: they must not gain by what the stripes give back. */
    @Test
    void keyWithoutAStateOfItsOwnIsNotHotForLong() {
        KeyTable full = KeyTable.of(gcra(INTERVAL, BURST), Tables.CLOCK, 1, 1);
        StripedTable striped = new StripedTable(full, () -> now, key -> {}, STRIPES, BATCH);
        striped.tryDebit("other", now, 1);
        long taken = striped.tryDebit(KEY, now, 3) == 0 ? 3 : 0;
        striped.open(KEY);
        while (striped.takePrepaid(KEY, 1) || striped.tryDebit(KEY, now, 1) == 0) {
            taken++;
        }
        assertThat(striped.isHot(KEY)).isFalse();
        assertThat(taken).isBetween(BURST - RESERVE, BURST);
    }

    static List<RateLimitPolicy> policiesWithoutStripes() {
        return List.of(
                gcra(INTERVAL, 16_000),
                TokenBucket.perSecond(1_000_000).stepwise(),
                LeakyBucket.perSecond(1_000_000),
                FixedWindow.of(1_000_000, Duration.ofSeconds(1)),
                SlidingWindowCounter.of(1_000_000, Duration.ofSeconds(1)),
                Policies.all(gcra(INTERVAL, 1_000_000), gcra(INTERVAL, 2_000_000)));
    }

    @ParameterizedTest
    @MethodSource("policiesWithoutStripes")
    void policyThatIsNotForStripesHasNone(RateLimitPolicy policy) {
        KeyTable plain = Tables.of(policy, 10);
        assertThat(StripedTable.over(plain, policy, () -> 0, key -> {})).isSameAs(plain);
    }

    @Test
    void largeBucketsHaveStripes() {
        for (RateLimitPolicy policy : List.of(gcra(INTERVAL, 1_000_000), TokenBucket.perSecond(1_000_000))) {
            assertThat(StripedTable.over(Tables.of(policy, 10), policy, () -> 0, key -> {}))
                    .isInstanceOf(StripedTable.class);
        }
    }
}
