package io.github.reactorratelimit.local;

import static io.github.reactorratelimit.local.Tables.KEY;
import static io.github.reactorratelimit.local.Tables.at;
import static io.github.reactorratelimit.local.Tables.cells;
import static io.github.reactorratelimit.local.Tables.gcra;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.algorithm.Algorithms;
import io.github.reactorratelimit.testing.Seeds;
import java.lang.ref.WeakReference;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** How the cells of a table are found: buckets that follow each other, cells that die, hashes that collide. */
class CellMapTest {

    private static final int BURST = 5;
    private static final long NEVER_REFILLED = 1_000_000_000_000L;

    /** Keys that have a live cell, each as often as it has one. */
    static List<String> alive(KeyTable table) {
        List<String> alive = new ArrayList<>();
        cells(table).keys().forEachRemaining(alive::add);
        return alive;
    }

    /** Cells in the map, dead ones too. */
    private static int linked(CellMap<?> cells) {
        AtomicInteger linked = new AtomicInteger();
        for (int i = 0; i < cells.buckets(); i++) {
            cells.visit(i, cell -> linked.incrementAndGet());
        }
        return linked.get();
    }

    static List<RateLimitPolicy> policies() {
        return Tables.smallPolicies().stream()
                .filter(policy -> !(policy instanceof ConcurrencyLimit))
                .toList();
    }

    /** With room for all, a key gets exactly what its policy alone gives it, however states are moved and forgotten. */
    @ParameterizedTest
    @MethodSource("policies")
    void keysThatHaveRoomAreLimitedExactlyAsIfAlone(RateLimitPolicy policy) {
        Random random = new Random(Seeds.of("exact, " + policy));
        for (int i = 0; i < (Tables.FULL ? 500 : 12); i++) {
            new History<>(Algorithms.of(policy, Tables.CLOCK), random).run();
        }
    }

    private static final class History<S> {

        private static final int KEYS = 400;

        private final Algorithm<S> alone;
        private final Random random;
        private final KeyTable table;
        private final List<S> states = new ArrayList<>();
        private long now;

        History(Algorithm<S> alone, Random random) {
            this.alone = alone;
            this.random = random;
            this.table = Tables.of(alone.policy(), KEYS);
            for (int key = 0; key < KEYS; key++) {
                states.add(alone.fresh());
            }
        }

        void run() {
            boolean grew = false;
            for (int i = 0; i < 5_000; i++) {
                now += random.nextInt(200) == 0 ? random.nextInt(100) : 0;
                int key = random.nextInt(KEYS);
                int dice = random.nextInt(20);
                if (dice == 0) {
                    table.reset("key" + key, () -> now);
                    states.set(key, alone.fresh());
                } else if (dice == 1) {
                    assertThat(table.read("key" + key, now, 1)).isEqualTo(alone.read(states.get(key), now, 1));
                } else {
                    debit(key, 1 + random.nextInt(3), dice == 2);
                }
                grew |= cells(table).isGrowing();
            }
            assertThat(grew).as("cells must be on the move now and then").isTrue();
            assertThat(alive(table))
                    .doesNotHaveDuplicates()
                    .hasSize(Tables.cells(table).size());
        }

        private void debit(int key, long permits, boolean undo) {
            long wait = alone.waitTicks(states.get(key), now, permits);
            assertThat(Tables.tryDebit(table, "key" + key, now, permits)).isEqualTo(wait);
            if (wait == 0) {
                S debited = alone.debit(states.get(key), now, permits);
                states.set(key, undo ? alone.refund(debited, now, now, permits) : debited);
                if (undo) {
                    table.refund("key" + key, at(now), now, permits);
                    states.set(key, undone(key, debited, permits));
                }
            }
        }

        /** A refund from the tick of the last reset is lost, and resets share stripes: what the table did is right or strict. */
        private S undone(int key, S debited, long permits) {
            S given = alone.refund(debited, now, now, permits);
            long remaining = table.read("key" + key, now, 1).remaining();
            boolean lost = remaining == alone.remaining(debited, now);
            assertThat(remaining).isEqualTo(alone.remaining(lost ? debited : given, now));
            return lost ? debited : given;
        }
    }

    @Test
    void growingTableKeepsEveryStateAndDropsTheBucketsItLeft() {
        KeyTable table = Tables.of(gcra(NEVER_REFILLED, BURST), 100_000);
        for (int i = 0; i < 50_000; i++) {
            assertThat(Tables.tryDebit(table, "key" + i, i, 1 + i % BURST)).isZero();
        }
        for (int i = 0; i < 50_000; i++) {
            assertThat(table.read("key" + i, 50_000, 1).remaining()).isEqualTo(BURST - 1 - i % BURST);
        }
        assertThat(Tables.cells(table).size()).isEqualTo(50_000);
        assertThat(cells(table).isGrowing()).isFalse();
        assertThat(cells(table).buckets()).isBetween(50_000, 50_000 * 2);
    }

    @Test
    void droppedBucketsAreNotKeptFromTheGarbageCollector() throws ReflectiveOperationException {
        KeyTable table = Tables.of(gcra(NEVER_REFILLED, BURST), 10_000);
        Field oldest = CellMap.class.getDeclaredField("oldest");
        oldest.setAccessible(true);
        WeakReference<Object> first = new WeakReference<>(oldest.get(cells(table)));
        for (int i = 0; i < 5_000; i++) {
            Tables.tryDebit(table, "key" + i, 0, 1);
        }
        for (int i = 0; i < 100 && first.get() != null; i++) {
            System.gc();
        }
        assertThat(first.get()).isNull();
        assertThat(Tables.cells(table).size()).isEqualTo(5_000);
    }

    /** Nobody enters any more: those who are looked up must end the move. */
    @Test
    void statesMoveOnAlsoWhenNoKeyEnters() {
        KeyTable table = Tables.of(gcra(NEVER_REFILLED, 1_000), 100_000);
        int keys = 0;
        while (keys < 10_000 || !cells(table).isGrowing()) {
            Tables.tryDebit(table, "key" + keys++, 0, 1);
        }
        String last = "key" + (keys - 1);
        for (int i = 0; i < 900 && cells(table).isGrowing(); i++) {
            Tables.tryDebit(table, last, 0, 1);
        }
        assertThat(cells(table).isGrowing()).isFalse();
        assertThat(Tables.cells(table).size()).isEqualTo(keys);
    }

    @Test
    void churnUsesABoundedNumberOfBucketsAndCells() {
        int maxKeys = 1_000;
        KeyTable table = Tables.of(gcra(10, BURST), maxKeys);
        int most = 0;
        for (int i = 0; i < 100 * maxKeys; i++) {
            assertThat(Tables.tryDebit(table, "key" + i, i, 1)).isZero();
            most = Math.max(most, cells(table).buckets());
        }
        assertThat(most).isLessThanOrEqualTo(2 * maxKeys);
        assertThat(linked(cells(table))).isEqualTo(Tables.cells(table).size());
        assertThat(Tables.cells(table).size()).isLessThanOrEqualTo(maxKeys);
        assertThat(alive(table)).hasSize(Tables.cells(table).size());
    }

    @Test
    void keyThatIsResetAgainAndAgainLeavesNoDeadCells() {
        KeyTable table = Tables.of(gcra(NEVER_REFILLED, BURST), 10);
        for (int i = 0; i < 10_000; i++) {
            assertThat(Tables.tryDebit(table, KEY, i, BURST)).isZero();
            long at = i;
            table.reset(KEY, () -> at);
        }
        assertThat(Tables.cells(table).size()).isOne();
        assertThat(linked(cells(table))).isOne();
    }

    /** "Aa" and "BB" have one hash code, and so have all words of them of one length. */
    static List<String> collidingKeys(int bits) {
        List<String> keys = new ArrayList<>();
        for (int i = 0; i < 1 << bits; i++) {
            StringBuilder key = new StringBuilder();
            for (int bit = 0; bit < bits; bit++) {
                key.append((i >>> bit & 1) == 0 ? "Aa" : "BB");
            }
            keys.add(key.toString());
        }
        return keys;
    }

    @Test
    void keysWithOneHashCodeAreLimitedEachByItselfInShortChains() {
        List<String> keys = collidingKeys(12);
        assertThat(keys.stream().mapToInt(String::hashCode).distinct().count()).isOne();
        KeyTable table = Tables.of(gcra(NEVER_REFILLED, BURST), keys.size());
        for (int round = 0; round < BURST; round++) {
            for (String key : keys) {
                assertThat(Tables.tryDebit(table, key, round, 1)).isZero();
            }
        }
        for (String key : keys) {
            assertThat(Tables.tryDebit(table, key, BURST, 1)).isPositive();
        }
        assertThat(Tables.cells(table).size()).isEqualTo(keys.size());
        assertThat(longestChain(cells(table))).isLessThan(64);
    }

    @Test
    void emptyTableIsSmall() {
        assertThat(cells(Tables.of(gcra(10, BURST), 1_000_000)).buckets()).isLessThanOrEqualTo(64);
    }

    private static int longestChain(CellMap<?> cells) {
        int longest = 0;
        for (int i = 0; i < cells.buckets(); i++) {
            AtomicInteger length = new AtomicInteger();
            cells.visit(i, cell -> length.incrementAndGet());
            longest = Math.max(longest, length.get());
        }
        return longest;
    }

    @Test
    void everyKeyKeepsItsOneCellAtEachStepOfGrowing() {
        CellMap<Long> cells = new CellMap<>(LongCell::new, 1_000);
        List<Cell<Long>> entered = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            assertThat(cells.enter("key" + i)).isTrue();
            entered.add(cells.find("key" + i));
        }
        int steps = 0;
        for (; cells.needsRehash(); steps++) {
            cells.rehash(cell -> false);
            String late = "late" + steps;
            assertThat(cells.enter(late)).isTrue();
            entered.add(cells.find(late));
            for (Cell<Long> cell : entered) {
                assertThat(cells.find(cell.key)).isSameAs(cell);
                assertThat(cells.enter(cell.key)).as("finds its cell").isTrue();
            }
            assertThat(cells.size()).isEqualTo(entered.size());
        }
        assertThat(steps).isGreaterThan(4);
    }

    @Test
    void deadCellIsPassedOverUntilItIsRemoved() {
        CellMap<Long> cells = new CellMap<>(LongCell::new, 1_000);
        assertThat(cells.enter(KEY)).isTrue();
        Cell<Long> dead = cells.find(KEY);
        assertThat(dead.swapDead(null)).isTrue();
        assertThat(cells.find(KEY)).isNull();
        cells.restart(KEY, created -> {});
        assertThat(cells.find(KEY)).isNotNull().isNotSameAs(dead);
        assertThat(cells.size()).isOne();
        cells.removeDead(KEY);
        assertThat(linked(cells)).isOne();
    }

    @Test
    void everyLiveCellOfAChainStaysWhicheverOthersAreDead() {
        List<String> keys = collidingKeys(3).subList(0, 6);
        for (int dead = 0; dead < 1 << keys.size(); dead++) {
            CellMap<Long> cells = new CellMap<>(LongCell::new, 1_000);
            keys.forEach(cells::enter);
            List<Cell<Long>> alive = new ArrayList<>();
            for (int i = 0; i < keys.size(); i++) {
                Cell<Long> cell = cells.find(keys.get(i));
                if ((dead >>> i & 1) == 0) {
                    alive.add(cell);
                } else {
                    assertThat(cell.swapDead(null)).isTrue();
                }
            }
            cells.removeDead(keys.get(0));
            assertThat(linked(cells)).isEqualTo(alive.size());
            assertThat(alive)
                    .allSatisfy(cell -> assertThat(cells.find(cell.key)).isSameAs(cell));
        }
    }

    /** A search by another thread may come at any time, also between two cells of a chain that is moved. */
    @Test
    void everyCellOfAChainIsFoundWhileTheOthersMove() {
        CellMap<Long> cells = new CellMap<>(LongCell::new, 1_000);
        List<String> keys = collidingKeys(5);
        keys.forEach(cells::enter);
        AtomicInteger moves = new AtomicInteger();
        while (cells.needsRehash()) {
            cells.rehash(moving -> {
                moves.incrementAndGet();
                assertThat(keys).allSatisfy(key -> assertThat(cells.find(key)).isNotNull());
                return false;
            });
        }
        assertThat(moves.get()).isGreaterThanOrEqualTo(keys.size());
    }

    /** Another thread may still be about to enter the key there, because it has not seen the new buckets. */
    @Test
    void keyThatEntersNewBucketsLeavesItsOldBucketSealed() {
        CellMap<Long> cells = new CellMap<>(LongCell::new, 1_000);
        int keys = 0;
        while (!cells.needsRehash()) {
            cells.enter("key" + keys++);
        }
        cells.rehash(cell -> false);
        for (int sealed = 0; sealed < cells.buckets(); keys++) {
            int before = seals(cells);
            cells.enter("key" + keys);
            sealed = seals(cells);
            assertThat(sealed).isBetween(before, before + 1).isPositive();
            assertThat(keys).as("all old buckets are sealed in the end").isLessThan(1_000);
        }
    }

    /** How many of the old buckets a seal closes. */
    private static int seals(CellMap<?> cells) {
        AtomicInteger seals = new AtomicInteger();
        for (int i = 0; i < cells.buckets(); i++) {
            cells.visit(i, cell -> seals.addAndGet(cell.key.isEmpty() ? 1 : 0));
        }
        return seals.get();
    }
}
