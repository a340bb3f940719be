package io.github.reactorratelimit.local;

import static io.github.reactorratelimit.local.Tables.KEY;
import static io.github.reactorratelimit.local.Tables.gcra;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.testing.Race;
import io.github.reactorratelimit.testing.Seeds;
import org.junit.jupiter.api.Test;

/** The two moments that decide where a key is: when a table gets a successor, and when a state moves there. */
class SlotTableRaceTest {

    private static final int BATCH = 1_000;
    private static final int ROUNDS = Tables.FULL ? 2_000 : 60;
    private static final int HASH = 77;
    private static final int SLOTS = 64;

    private static SlotTable table() {
        return new SlotTable(new KeyedHash(), SLOTS);
    }

    /** Takes a slot as somebody does who enters a key, and makes no table himself. */
    private static boolean takes(SlotTable oldest) {
        for (SlotTable table = oldest; table != null; table = table.next()) {
            int found = table.take(KEY, HASH, false);
            if (found >= 0) {
                return found >= SlotTable.TAKEN;
            }
        }
        return false;
    }

    @Test
    void ofTwoThreadsOneOfWhichPutsANewSlotTableOnlyOneTakesASlotForAKey() {
        SlotTable[] tables = new SlotTable[BATCH];
        boolean[] left = new boolean[BATCH];
        boolean[] right = new boolean[BATCH];
        int later = 0;
        try (Race race = new Race(BATCH, Seeds.of("new table"))) {
            for (int round = 0; round < ROUNDS; round++) {
                for (int i = 0; i < BATCH; i++) {
                    tables[i] = table();
                }
                race.run(i -> left[i] = takes(tables[i]), i -> {
                    tables[i].setNext(table());
                    right[i] = takes(tables[i]);
                });
                for (int i = 0; i < BATCH; i++) {
                    assertThat(left[i] ^ right[i]).as("taken by one").isTrue();
                    later += tables[i].locate(KEY, HASH, false) < 0 ? 1 : 0;
                }
            }
        }
        assertThat(later).as("some in each table").isBetween(1, ROUNDS * BATCH - 1);
    }

    /** The key spent all it had before its state moves. */
    @Test
    void keyIsNeverTakenForAFreshOneWhileItsStateMoves() {
        KeyTable[] tables = new KeyTable[BATCH];
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
                    moved += Tables.slotTables(tables[i]).oldest().slots() > SLOTS ? 1 : 0;
                }
            }
        }
        assertThat(moved).isGreaterThan(ROUNDS / 4 * BATCH / 2);
    }

    private static KeyTable almostCrowded() {
        KeyTable table = Tables.of(gcra(1_000_000_000_000L, 3), 1_000);
        Tables.tryDebit(table, KEY, 0, 3);
        enter(table, "other", SLOTS / 4 * 3 - 1);
        return table;
    }

    private static void enter(KeyTable table, String prefix, int count) {
        for (int i = 0; i < count; i++) {
            Tables.tryDebit(table, prefix + i, 0, 1);
        }
    }

    private static int laxAnswers(KeyTable table) {
        int lax = 0;
        for (int i = 0; i < 60; i++) {
            lax += table.read(KEY, 0, 1).remaining() > 0 ? 1 : 0;
            lax += table.waitTicks(KEY, 0, 1) == 0 ? 1 : 0;
            lax += Tables.tryDebit(table, KEY, 0, 1) == 0 ? 1 : 0;
        }
        return lax;
    }
}
