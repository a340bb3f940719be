package io.github.reactorratelimit.local;

import static io.github.reactorratelimit.local.Tables.KEY;
import static io.github.reactorratelimit.local.Tables.gcra;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.testing.Race;
import io.github.reactorratelimit.testing.Seeds;
import org.junit.jupiter.api.Test;

/** The two moments that decide where a key is: when a level gets a successor, and when a state moves there. */
class LevelRaceTest {

    private static final int BATCH = 1_000;
    private static final int ROUNDS = Tables.FULL ? 2_000 : 60;
    private static final int HASH = 77;
    private static final int SLOTS = 64;

    private static Level level() {
        return new Level(new Level.Rehash(), SLOTS);
    }

    /** Takes a slot as somebody does who enters a key, and makes no level himself. */
    private static boolean takes(Level oldest) {
        for (Level level = oldest; level != null; level = level.next()) {
            int found = level.take(KEY, HASH, false);
            if (found >= 0) {
                return found >= Level.TAKEN;
            }
        }
        return false;
    }

    @Test
    void ofTwoThreadsOneOfWhichPutsANewLevelOnlyOneTakesASlotForAKey() {
        Level[] levels = new Level[BATCH];
        boolean[] left = new boolean[BATCH];
        boolean[] right = new boolean[BATCH];
        int later = 0;
        try (Race race = new Race(BATCH, Seeds.of("new level"))) {
            for (int round = 0; round < ROUNDS; round++) {
                for (int i = 0; i < BATCH; i++) {
                    levels[i] = level();
                }
                race.run(i -> left[i] = takes(levels[i]), i -> {
                    levels[i].setNext(level());
                    right[i] = takes(levels[i]);
                });
                for (int i = 0; i < BATCH; i++) {
                    assertThat(left[i] ^ right[i]).as("taken by one").isTrue();
                    later += levels[i].locate(KEY, HASH, false) < 0 ? 1 : 0;
                }
            }
        }
        assertThat(later).as("some in each level").isBetween(1, ROUNDS * BATCH - 1);
    }

    /** The key spent all it had before its state moves. */
    @Test
    void keyIsNeverTakenForAFreshOneWhileItsStateMoves() {
        LongKeyTable[] tables = new LongKeyTable[BATCH];
        int[] lax = new int[BATCH];
        int moved = 0;
        try (Race race = new Race(BATCH, Seeds.of("moving state"))) {
            for (int round = 0; round < ROUNDS / 4; round++) {
                for (int i = 0; i < BATCH; i++) {
                    tables[i] = almostCrowded();
                }
                race.run(i -> lax[i] = laxAnswers(tables[i]), i -> enter(tables[i], "more", 8));
                for (int i = 0; i < BATCH; i++) {
                    assertThat(lax[i]).isZero();
                    moved += tables[i].levels().oldest().slots() > SLOTS ? 1 : 0;
                }
            }
        }
        assertThat(moved).isGreaterThan(ROUNDS / 4 * BATCH / 2);
    }

    private static LongKeyTable almostCrowded() {
        LongKeyTable table = LongKeyTableTest.table(gcra(1_000_000_000_000L, 3), 1_000);
        table.tryDebit(KEY, 0, 3);
        enter(table, "other", SLOTS / 4 * 3 - 1);
        return table;
    }

    private static void enter(KeyTable table, String prefix, int count) {
        for (int i = 0; i < count; i++) {
            table.tryDebit(prefix + i, 0, 1);
        }
    }

    private static int laxAnswers(KeyTable table) {
        int lax = 0;
        for (int i = 0; i < 60; i++) {
            lax += table.read(KEY, 0, 1).remaining() > 0 ? 1 : 0;
            lax += table.waitTicks(KEY, 0, 1) == 0 ? 1 : 0;
            lax += table.tryDebit(KEY, 0, 1) == 0 ? 1 : 0;
        }
        return lax;
    }
}
