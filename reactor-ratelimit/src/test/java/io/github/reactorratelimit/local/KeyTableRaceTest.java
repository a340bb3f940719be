package io.github.reactorratelimit.local;

import static io.github.reactorratelimit.local.Tables.KEY;
import static io.github.reactorratelimit.local.Tables.at;
import static io.github.reactorratelimit.local.Tables.gcra;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.SlidingWindowLog;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Keys that come and go while they are debited, refunded and reset: what is granted at one instant never exceeds the burst. */
class KeyTableRaceTest {

    private static final int BURST = 3;
    private static final long SPAN = 1_000;

    static List<RateLimitPolicy> policies() {
        return List.of(
                gcra(SPAN / BURST, BURST),
                FixedWindow.of(BURST, Duration.ofNanos(SPAN)),
                SlidingWindowLog.of(BURST, Duration.ofNanos(SPAN)));
    }

    /** Long enough after the last round for everything to be refilled, and at the start of a window. */
    private static long start(int round) {
        return (round + 1) * 2 * SPAN;
    }

    private static int debit(KeyTable table, long now, int times) {
        int granted = 0;
        for (int i = 0; i < times; i++) {
            granted += Tables.tryDebit(table, KEY, now, 1) == 0 ? 1 : 0;
        }
        return granted;
    }

    /** A debit that goes to a cell which is being forgotten is lost unless the cell is dead first. */
    @ParameterizedTest
    @MethodSource("policies")
    void forgettingAgainstDebitLosesNoDebit(RateLimitPolicy policy) {
        TableRaces races = new TableRaces(policy, 1);
        races.each((lane, rounds) -> Tables.tryDebit(lane.table, KEY, start(-1), 1));
        races.run(
                (lane, round) -> lane.granted.addAndGet(debit(lane.table, start(round), 1)),
                (lane, round) -> {
                    Tables.tryDebit(lane.table, "other", start(round), 1);
                    lane.table.reset("other", () -> start(round));
                },
                (lane, round) -> {
                    int all = lane.granted.getAndSet(0) + debit(lane.table, start(round), BURST);
                    assertThat(all).as("granted in round %d", round).isBetween(1, BURST);
                    lane.table.reset(KEY, () -> start(round));
                    Tables.tryDebit(lane.table, KEY, start(round) + 1, 1);
                });
        races.each((lane, rounds) -> assertThat(Tables.cells(lane.table).size()).isOne());
    }

    /** Whoever enters the key must see the debits on its overflow cell, or who debits must see that it entered. */
    @ParameterizedTest
    @MethodSource("policies")
    void enteringAgainstOverflowDebitLosesNoDebit(RateLimitPolicy policy) {
        TableRaces races = new TableRaces(policy, 1);
        races.run(
                (lane, round) -> lane.granted.addAndGet(debit(lane.table, start(round), 2)),
                (lane, round) -> {
                    lane.table.reset("other", () -> start(round));
                    lane.granted.addAndGet(debit(lane.table, start(round), 2));
                },
                (lane, round) -> {
                    int all = lane.granted.getAndSet(0) + debit(lane.table, start(round), BURST);
                    assertThat(all).as("granted in round %d", round).isBetween(1, BURST);
                    occupy(lane.table, start(round + 1));
                });
    }

    /** Fills the only place with another key, so that the key starts the round past the bound. */
    private static void occupy(KeyTable table, long now) {
        Tables.tryDebit(table, "other", now, 1);
        assertThat(table.read("other", now, 1).remaining()).isLessThan(BURST);
    }

    @ParameterizedTest
    @MethodSource("policies")
    void resetAgainstDebitGivesAtMostOneMoreBurst(RateLimitPolicy policy) {
        TableRaces races = new TableRaces(policy, 2);
        races.run(
                (lane, round) -> lane.granted.addAndGet(debit(lane.table, start(round), BURST + 1)),
                (lane, round) -> lane.table.reset(KEY, () -> start(round)),
                (lane, round) -> {
                    int all = lane.granted.getAndSet(0) + debit(lane.table, start(round), BURST);
                    assertThat(all).as("granted in round %d", round).isBetween(BURST, 2 * BURST);
                });
    }

    /** The refund of a debit from before the reset may come before it or be lost, but never lift the key after it. */
    @ParameterizedTest
    @MethodSource("policies")
    void refundAgainstResetNeverLiftsTheKey(RateLimitPolicy policy) {
        TableRaces races = new TableRaces(policy, 2);
        races.each((lane, rounds) -> Tables.tryDebit(lane.table, KEY, start(0), 2));
        races.run(
                (lane, round) -> lane.table.refund(KEY, at(start(round) + 1), start(round), 2),
                (lane, round) -> {
                    lane.table.reset(KEY, () -> start(round) + 1);
                    lane.granted.addAndGet(debit(lane.table, start(round) + 1, BURST));
                },
                (lane, round) -> {
                    int all = lane.granted.getAndSet(0) + debit(lane.table, start(round) + 1, BURST);
                    assertThat(all).as("granted in round %d", round).isEqualTo(BURST);
                    assertThat(Tables.tryDebit(lane.table, KEY, start(round + 1), 2))
                            .isZero();
                });
    }

    /** What was debited before the key was forgotten is refilled by then: giving it back must give nothing. */
    @ParameterizedTest
    @MethodSource("policies")
    void refundAgainstForgettingNeverLiftsTheKey(RateLimitPolicy policy) {
        TableRaces races = new TableRaces(policy, 1);
        races.each((lane, rounds) -> Tables.tryDebit(lane.table, KEY, start(-1), 2));
        races.run(
                (lane, round) -> {
                    lane.table.refund(KEY, at(start(round)), start(round - 1), 2);
                    lane.granted.addAndGet(debit(lane.table, start(round), 1));
                },
                (lane, round) -> {
                    Tables.tryDebit(lane.table, "other", start(round), 1);
                    lane.table.reset("other", () -> start(round));
                    lane.granted.addAndGet(debit(lane.table, start(round), 1));
                },
                (lane, round) -> {
                    int all = lane.granted.getAndSet(0) + debit(lane.table, start(round), BURST);
                    assertThat(all).as("granted in round %d", round).isBetween(1, BURST);
                    lane.table.reset(KEY, () -> start(round) + 1);
                    Tables.tryDebit(lane.table, KEY, start(round) + 1, 2);
                });
    }

    /** A permit taken from the overflow cell while the key enters must not stay there beside those of its own cell. */
    @Test
    void enteringAgainstOverflowDebitKeepsPermitsInFlightInOnePlace() {
        TableRaces races = new TableRaces(ConcurrencyLimit.of(BURST), 1);
        races.each((lane, rounds) -> Tables.tryDebit(lane.table, "other", 0, 1));
        races.run(
                (lane, round) -> lane.granted.addAndGet(Tables.tryDebit(lane.table, KEY, round, 2) == 0 ? 1 : 0),
                (lane, round) -> {
                    lane.table.refund("other", at(round), round, 1);
                    lane.granted.addAndGet(Tables.tryDebit(lane.table, KEY, round, 2) == 0 ? 1 : 0);
                },
                (lane, round) -> {
                    int holders = lane.granted.getAndSet(0);
                    assertThat(holders).as("holders in round %d", round).isLessThanOrEqualTo(1);
                    if (holders == 1) {
                        lane.table.refund(KEY, at(round), round, 2);
                    }
                    assertThat(lane.table.read(KEY, round, 1).remaining()).isEqualTo(BURST);
                    assertThat(Tables.tryDebit(lane.table, "other", round, 1)).isZero();
                    assertThat(Tables.tryDebit(lane.table, KEY, round, BURST))
                            .as("all free past the bound")
                            .isZero();
                    lane.table.refund(KEY, at(round), round, BURST);
                });
    }

    /** Permits in flight, taken and released while the key moves between its own and its overflow cell. */
    @Test
    void permitsInFlightAreNeitherLostNorMade() {
        TableRaces races = new TableRaces(ConcurrencyLimit.of(BURST), 1);
        TableRaces.Step useKey = (lane, round) -> {
            for (int i = 0; i < 8; i++) {
                if (Tables.tryDebit(lane.table, KEY, round, 2) == 0) {
                    lane.most.accumulateAndGet(lane.held.addAndGet(2), Math::max);
                    lane.granted.incrementAndGet();
                    lane.held.addAndGet(-2);
                    lane.table.refund(KEY, at(round), round, 2);
                }
            }
        };
        races.run(
                useKey,
                (lane, round) -> {
                    for (int i = 0; i < 4; i++) {
                        boolean other = Tables.tryDebit(lane.table, "other", round, 1) == 0;
                        useKey.run(lane, round);
                        if (other) {
                            lane.table.refund("other", at(round), round, 1);
                        }
                    }
                },
                (lane, round) -> {
                    assertThat(lane.most.getAndSet(0))
                            .as("in flight in round %d", round)
                            .isLessThanOrEqualTo(BURST);
                    assertThat(lane.table.read(KEY, round, 1).remaining())
                            .as("left after round %d", round)
                            .isEqualTo(BURST);
                    assertThat(lane.table.read("other", round, 1).remaining()).isEqualTo(BURST);
                });
        races.each((lane, rounds) -> assertThat(lane.granted.get()).isGreaterThan(rounds));
    }
}
