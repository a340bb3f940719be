package io.github.reactorratelimit.local;

import static io.github.reactorratelimit.local.Tables.KEY;
import static io.github.reactorratelimit.local.Tables.gcra;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.testing.Race;
import io.github.reactorratelimit.testing.Seeds;
import org.junit.jupiter.api.Test;

/** The two moments that decide where a key is: when a map begins to grow, and when a cell moves. */
class CellMapRaceTest {

    private static final int BATCH = 1_000;
    private static final int ROUNDS = Tables.FULL ? 2_000 : 20;
    private static final int BUCKETS = 16;

    private static CellMap<Long> full() {
        CellMap<Long> cells = new CellMap<>(LongCell::new, 1_000);
        for (int i = 0; i <= BUCKETS; i++) {
            cells.enter("other" + i);
        }
        return cells;
    }

    /** Cells are moved, and the old buckets are dropped, while both threads enter the key. */
    @Test
    @SuppressWarnings({"unchecked", "rawtypes"})
    void ofTwoThreadsOneOfWhichGrowsTheMapOnlyOneEntersACellForAKey() {
        CellMap<Long>[] maps = new CellMap[BATCH];
        boolean[] first = new boolean[BATCH];
        int entered = 0;
        try (Race race = new Race(BATCH, Seeds.of("new table"))) {
            for (int round = 0; round < ROUNDS; round++) {
                for (int i = 0; i < BATCH; i++) {
                    maps[i] = full();
                }
                race.run(i -> maps[i].enter(KEY), i -> {
                    maps[i].rehash(cell -> false);
                    first[i] = maps[i].find(KEY) == null;
                    maps[i].rehash(cell -> false);
                    maps[i].enter(KEY);
                });
                for (int i = 0; i < BATCH; i++) {
                    assertThat(maps[i].keys())
                            .toIterable()
                            .containsOnlyOnce(KEY)
                            .hasSize(BUCKETS + 2);
                    assertThat(maps[i].size()).isEqualTo(BUCKETS + 2);
                    entered += first[i] ? 1 : 0;
                }
            }
        }
        assertThat(entered).as("some before and some while it grows").isBetween(1, ROUNDS * BATCH - 1);
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
                    moved += Tables.cells(tables[i]).buckets() > BUCKETS ? 1 : 0;
                }
            }
        }
        assertThat(moved).isGreaterThan(ROUNDS / 4 * BATCH / 2);
    }

    private static KeyTable almostCrowded() {
        KeyTable table = Tables.of(gcra(1_000_000_000_000L, 3), 1_000);
        Tables.tryDebit(table, KEY, 0, 3);
        enter(table, "other", BUCKETS - 1);
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
