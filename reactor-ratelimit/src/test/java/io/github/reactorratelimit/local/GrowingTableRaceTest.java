package io.github.reactorratelimit.local;

import static io.github.reactorratelimit.local.Tables.KEY;
import static io.github.reactorratelimit.local.Tables.at;
import static io.github.reactorratelimit.local.Tables.gcra;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.local.TableRaces.Lane;
import io.github.reactorratelimit.local.TableRaces.Step;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Keys that are used while the table grows and cells are moved: as if nothing moved. */
class GrowingTableRaceTest {

    private static final int BURST = 3;
    private static final long SPAN = 1_000;
    private static final int MAX_KEYS = 1_000;

    /** Enough to make a table grow in its first rounds. */
    private static final int OTHERS = 24;

    static List<RateLimitPolicy> policies() {
        return List.of(gcra(SPAN / BURST, BURST), FixedWindow.of(BURST, Duration.ofNanos(SPAN)));
    }

    private static long start(int round) {
        return (round + 1) * 2 * SPAN;
    }

    private static int debit(KeyTable table, String key, long now, int times) {
        int granted = 0;
        for (int i = 0; i < times; i++) {
            granted += Tables.tryDebit(table, key, now, 1) == 0 ? 1 : 0;
        }
        return granted;
    }

    /** The keys of so many rounds have room, so that none is ever past the bound. */
    private static int era(int round) {
        return round % 10;
    }

    /** Makes tables grow, and cells move; each reset replaces a cell. */
    private static void enterOthers(Lane lane, String prefix, int round) {
        for (int i = 0; i < OTHERS; i++) {
            String other = prefix + era(round) + '-' + i;
            Tables.tryDebit(lane.table, other, start(round), 1);
            lane.table.reset(other, () -> start(round));
        }
    }

    private static final Step OTHERS_ENTER = (lane, round) -> enterOthers(lane, "other", round);

    /** Places are neither lost nor made, and no key is in two cells. */
    private static void hasEachKeyOnce(Lane lane) {
        assertThat(CellMapTest.alive(lane.table))
                .doesNotHaveDuplicates()
                .hasSize(Tables.cells(lane.table).size());
    }

    /** One of them may not have seen the table that the other enters the key in. */
    @ParameterizedTest
    @MethodSource("policies")
    void keyThatTwoThreadsEnterWhileTablesChangeGetsOneBurst(RateLimitPolicy policy) {
        TableRaces races = new TableRaces(policy, MAX_KEYS);
        races.run(
                (lane, round) -> {
                    for (int i = 0; i < OTHERS; i++) {
                        lane.granted.addAndGet(debit(lane.table, era(round) + "-" + i, start(round), 1));
                    }
                },
                (lane, round) -> {
                    for (int i = 0; i < OTHERS; i++) {
                        lane.granted.addAndGet(debit(lane.table, era(round) + "-" + i, start(round), 1));
                    }
                },
                (lane, round) -> {
                    assertThat(lane.granted.getAndSet(0)).isEqualTo(2 * OTHERS);
                    for (int i = 0; i < OTHERS; i++) {
                        assertThat(debit(lane.table, era(round) + "-" + i, start(round), BURST))
                                .as("left for key %d of round %d", i, round)
                                .isEqualTo(BURST - 2);
                    }
                    enterOthers(lane, "other", round);
                });
        races.each((lane, rounds) -> hasEachKeyOnce(lane));
    }

    @ParameterizedTest
    @MethodSource("policies")
    void movingAgainstDebitLosesNoDebit(RateLimitPolicy policy) {
        TableRaces races = new TableRaces(policy, MAX_KEYS);
        races.run(
                (lane, round) -> {
                    for (int i = 0; i < BURST; i++) {
                        lane.granted.addAndGet(debit(lane.table, KEY, start(round), 1));
                        enterOthers(lane, "left" + i, round);
                    }
                },
                OTHERS_ENTER,
                (lane, round) -> {
                    assertThat(lane.granted.getAndSet(0))
                            .as("in round %d", round)
                            .isEqualTo(BURST);
                    assertThat(debit(lane.table, KEY, start(round), 1)).isZero();
                });
        races.each((lane, rounds) -> hasEachKeyOnce(lane));
    }

    @ParameterizedTest
    @MethodSource("policies")
    void movingAgainstRefundGivesBackOnce(RateLimitPolicy policy) {
        TableRaces races = new TableRaces(policy, MAX_KEYS);
        races.run(
                (lane, round) -> {
                    for (int i = 0; i < 20; i++) {
                        assertThat(Tables.tryDebit(lane.table, KEY, start(round), 2))
                                .isZero();
                        assertThat(lane.table.read(KEY, start(round), 1).remaining())
                                .isEqualTo(BURST - 2);
                        lane.table.refund(KEY, at(start(round)), start(round), 2);
                        Tables.tryDebit(lane.table, "mine" + era(round) + '-' + i, start(round), 1);
                    }
                },
                OTHERS_ENTER,
                (lane, round) -> assertThat(
                                lane.table.read(KEY, start(round), 1).remaining())
                        .as("after round %d", round)
                        .isEqualTo(BURST));
        races.each((lane, rounds) -> hasEachKeyOnce(lane));
    }

    @ParameterizedTest
    @MethodSource("policies")
    void movingAgainstResetDoesNotBringBackWhatWasSpent(RateLimitPolicy policy) {
        TableRaces races = new TableRaces(policy, MAX_KEYS);
        races.run(
                (lane, round) -> {
                    for (int i = 0; i < OTHERS; i++) {
                        assertThat(debit(lane.table, KEY, start(round), BURST + 1))
                                .isEqualTo(BURST);
                        lane.table.reset(KEY, () -> start(round));
                    }
                },
                OTHERS_ENTER,
                (lane, round) -> assertThat(debit(lane.table, KEY, start(round), BURST + 1))
                        .as("after round %d", round)
                        .isEqualTo(BURST));
        races.each((lane, rounds) -> hasEachKeyOnce(lane));
    }

    /** The debit is from before the reset: given back to whatever slot, it must not lift the key. */
    @ParameterizedTest
    @MethodSource("policies")
    void refundAgainstResetWhileStatesMoveNeverLiftsTheKey(RateLimitPolicy policy) {
        TableRaces races = new TableRaces(policy, MAX_KEYS);
        races.each((lane, rounds) -> Tables.tryDebit(lane.table, KEY, start(0), 2));
        races.run(
                (lane, round) -> {
                    enterOthers(lane, "left", round);
                    lane.table.refund(KEY, at(start(round) + 1), start(round), 2);
                },
                (lane, round) -> {
                    enterOthers(lane, "right", round);
                    lane.table.reset(KEY, () -> start(round) + 1);
                    lane.granted.addAndGet(debit(lane.table, KEY, start(round) + 1, BURST));
                },
                (lane, round) -> {
                    int all = lane.granted.getAndSet(0) + debit(lane.table, KEY, start(round) + 1, BURST);
                    assertThat(all).as("granted in round %d", round).isEqualTo(BURST);
                    assertThat(Tables.tryDebit(lane.table, KEY, start(round + 1), 2))
                            .isZero();
                });
        races.each((lane, rounds) -> hasEachKeyOnce(lane));
    }
}
