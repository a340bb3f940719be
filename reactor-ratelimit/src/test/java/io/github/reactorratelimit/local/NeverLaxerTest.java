package io.github.reactorratelimit.local;

import static io.github.reactorratelimit.local.Tables.at;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.CompositePolicy;
import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.WarmUp;
import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.algorithm.Algorithms;
import io.github.reactorratelimit.testing.Seeds;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Random histories through tables with room for one to three of eight keys, and few overflow cells: a
 * key is never allowed what its policy alone, applied to its own debits, would deny.
 */
class NeverLaxerTest {

    private static final int HISTORIES = Tables.FULL ? 100_000 : 1_500;
    private static final int STEPS = 100;
    private static final int KEYS = 8;

    /** Under a warm-up the earliest debit is not the laxest, since a later one keeps the key warm: see CrowdedWarmUpTest. */
    static List<RateLimitPolicy> policies() {
        return Tables.smallPolicies().stream()
                .filter(policy -> !(policy instanceof WarmUp))
                .filter(policy -> EvictionHorizon.of(policy, Tables.CLOCK).marginTicks() == 0)
                .toList();
    }

    @ParameterizedTest
    @MethodSource("policies")
    void keyIsNeverAllowedWhatItsPolicyAloneWouldDeny(RateLimitPolicy policy) {
        Random random = new Random(Seeds.of("never laxer, " + policy));
        long allowed = 0;
        long past = 0;
        for (int i = 0; i < HISTORIES; i++) {
            History<?> history = new History<>(Algorithms.of(policy, Tables.CLOCK), random);
            history.run();
            allowed += history.allowed;
            past += history.stricter;
        }
        System.out.printf(
                "%d %% allowed, %d %% denied only past the bound%n",
                allowed * 100 / HISTORIES / STEPS, past * 100 / HISTORIES / STEPS);
        assertThat(allowed).isPositive();
        assertThat(past).as("histories must reach the overflow cells").isPositive();
    }

    private record Taken(long at, long permits) {}

    private static final class History<S> {

        private final Algorithm<S> alone;
        private final Random random;
        private final int maxKeys;
        private final KeyTable table;
        private final List<S> states = new ArrayList<>();
        private final List<List<Taken>> taken = new ArrayList<>();
        private long now;
        private long allowed;
        private long stricter;

        History(Algorithm<S> alone, Random random) {
            this.alone = alone;
            this.random = random;
            this.maxKeys = 1 + random.nextInt(3);
            this.table = Tables.of(alone.policy(), maxKeys, 1 << random.nextInt(3));
            for (int key = 0; key < KEYS; key++) {
                states.add(alone.fresh());
                taken.add(new ArrayList<>());
            }
        }

        void run() {
            int step = 1 + random.nextInt(60);
            for (int i = 0; i < STEPS; i++) {
                now += random.nextInt(4) == 0 ? random.nextInt(step) : 0;
                int key = random.nextInt(KEYS);
                int dice = random.nextInt(20);
                if (dice < 3) {
                    refund(key);
                } else if (dice == 3 && !(alone.policy() instanceof ConcurrencyLimit)) {
                    table.reset("key" + key, () -> now);
                    states.set(key, alone.fresh());
                    taken.get(key).clear();
                } else {
                    debit(key, 1 + random.nextInt(3));
                }
                if (Tables.cells(table).size() > maxKeys) {
                    throw new AssertionError(Tables.cells(table).size() + " keys in a table of " + maxKeys);
                }
            }
        }

        private void debit(int key, long permits) {
            long at = random.nextInt(4) == 0 ? Math.max(0, now - random.nextInt(30)) : now;
            long wait = alone.waitTicks(states.get(key), at, permits);
            if (Tables.tryDebit(table, "key" + key, at, permits) == 0) {
                assertThat(wait)
                        .as("%d permits for key%d at %d, read at %d", permits, key, now, at)
                        .isLessThanOrEqualTo(now - at);
                // The table may count it as of a later time, up to now: the earliest is the laxest.
                states.set(key, alone.debit(states.get(key), at + wait, permits));
                taken.get(key).add(new Taken(at + wait, permits));
                allowed++;
            } else if (wait == 0) {
                stricter++;
            }
        }

        private void refund(int key) {
            List<Taken> mine = taken.get(key);
            if (!mine.isEmpty()) {
                Taken back = mine.remove(random.nextInt(mine.size()));
                table.refund("key" + key, at(now), back.at, back.permits);
                states.set(key, alone.refund(states.get(key), now, back.at, back.permits));
            }
        }
    }

    /** What the key inherits was debited by others: a late reading must not count as earlier than the forgetting. */
    @Test
    void forgottenKeyThatInheritsOthersDebitsIsHeldToTheTimeOfForgetting() {
        KeyTable table = Tables.of(SlidingWindowLog.of(5, Duration.ofNanos(50)), 2, 1);
        Tables.tryDebit(table, Tables.KEY, 40, 5);
        Tables.tryDebit(table, "other", 40, 1);
        Tables.tryDebit(table, "past the bound", 70, 1);
        Tables.tryDebit(table, "sweeping", 100, 1);
        assertThat(Tables.tryDebit(table, Tables.KEY, 85, 4)).isZero();
        assertThat(table.read(Tables.KEY, 149, 1).remaining()).isOne();
        assertThat(table.read(Tables.KEY, 150, 1).remaining()).isEqualTo(5);
    }

    @Test
    void permitsInFlightAreNeverLost() {
        Random random = new Random(Seeds.of("permits in flight"));
        for (int i = 0; i < HISTORIES; i++) {
            History<?> history = new History<>(Algorithms.of(ConcurrencyLimit.of(5), Tables.CLOCK), random);
            history.run();
            for (int key = 0; key < KEYS; key++) {
                while (!history.taken.get(key).isEmpty()) {
                    history.refund(key);
                }
            }
            for (int key = 0; key < KEYS; key++) {
                assertThat(history.table.read("key" + key, history.now, 1).remaining())
                        .isEqualTo(5);
            }
        }
    }

    static List<RateLimitPolicy> phasedPolicies() {
        return Tables.smallPolicies().stream()
                .filter(policy -> EvictionHorizon.of(policy, Tables.CLOCK).marginTicks() > 0)
                .toList();
    }

    /** Where the first request sets the phase, a shared cell may have another: the worst case of the policy holds. */
    @ParameterizedTest
    @MethodSource("phasedPolicies")
    void windowsThatStartAtTheFirstRequestKeepTheirWorstCase(RateLimitPolicy policy) {
        WorstCase worst = WorstCase.of(policy);
        Random random = new Random(Seeds.of("worst case, " + policy));
        long most = 0;
        for (int i = 0; i < 4 * HISTORIES; i++) {
            KeyTable table = Tables.of(policy, 1, 1);
            most = Math.max(most, greedy(table, worst, random));
        }
        System.out.printf("at most %d of %d in %s%n", most, worst.permits, worst.window);
        assertThat(most).isLessThanOrEqualTo(worst.permits).isGreaterThanOrEqualTo(worst.permits * 3 / 4);
    }

    /** One key takes all it gets in bursts, others take a permit here and there to set phases and to push it out. */
    private static long greedy(KeyTable table, WorstCase worst, Random random) {
        List<Taken> taken = new ArrayList<>();
        long now = 0;
        int window = (int) worst.window.toNanos();
        for (int i = 0; i < 40; i++) {
            now += random.nextInt(4) == 0 ? random.nextInt(window) : 1 + random.nextInt(5);
            int dice = random.nextInt(6);
            if (dice < 2) {
                Tables.tryDebit(table, "other" + dice, now, 1);
            } else if (dice == 2 && Tables.tryDebit(table, Tables.KEY, now, 1) == 0) {
                table.refund(Tables.KEY, at(now), now, 1);
            } else {
                long limit = dice == 3 ? 1 : worst.permits;
                for (long got = 0; got < limit && Tables.tryDebit(table, Tables.KEY, now, 1) == 0; got++) {
                    taken.add(new Taken(now, 1));
                }
            }
        }
        return mostInAWindow(taken, window);
    }

    private static long mostInAWindow(List<Taken> taken, long window) {
        int most = 0;
        for (int first = 0, last = 0; last < taken.size(); last++) {
            while (taken.get(last).at - taken.get(first).at >= window) {
                first++;
            }
            most = Math.max(most, last - first + 1);
        }
        return most;
    }

    /** Its own window, then the rest of one that another key began, then the one after that. */
    @Test
    void keyDoesNotTakeThreeWindowsByLeavingTheTable() {
        assertThat(takenAcrossThreeWindows(false)).isLessThanOrEqualTo(10);
    }

    @Test
    void refundThatEmptiesTheWindowDoesNotHideTheDebitsBefore() {
        assertThat(takenAcrossThreeWindows(true)).isLessThanOrEqualTo(10);
    }

    private static long takenAcrossThreeWindows(boolean withRefund) {
        KeyTable table = Tables.of(FixedWindow.of(5, Duration.ofNanos(50)).fromFirstRequest(), 1, 1);
        Tables.tryDebit(table, Tables.KEY, 0, 1);
        Tables.tryDebit(table, "other", 5, 1);
        List<Taken> taken = new ArrayList<>();
        take(table, 49, taken);
        if (withRefund && Tables.tryDebit(table, Tables.KEY, 50, 1) == 0) {
            table.refund(Tables.KEY, at(50), 50, 1);
        }
        Tables.tryDebit(table, "third", 51, 1);
        take(table, 54, taken);
        take(table, 55, taken);
        return mostInAWindow(taken, 50);
    }

    private static void take(KeyTable table, long at, List<Taken> taken) {
        while (Tables.tryDebit(table, Tables.KEY, at, 1) == 0) {
            taken.add(new Taken(at, 1));
        }
    }

    private record WorstCase(Duration window, long permits) {

        static WorstCase of(RateLimitPolicy policy) {
            if (policy instanceof FixedWindow fixed) {
                return new WorstCase(fixed.window(), 2 * fixed.limit());
            }
            if (policy instanceof TokenBucket bucket) {
                return new WorstCase(
                        bucket.period().multipliedBy(3).dividedBy(2), bucket.capacity() + 2 * bucket.refill());
            }
            CompositePolicy composite = (CompositePolicy) policy;
            return of(composite.parts().get(1));
        }
    }
}
