package io.github.reactorratelimit.local;

import static io.github.reactorratelimit.local.Tables.KEY;
import static io.github.reactorratelimit.local.Tables.at;
import static io.github.reactorratelimit.local.Tables.gcra;
import static io.github.reactorratelimit.local.Tables.slotTables;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.algorithm.Algorithms;
import io.github.reactorratelimit.testing.Seeds;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What is special to the table of longs: tables that follow each other, slots that are used up, hashes that collide. */
class ArraySlotsTest {

    private static final int BURST = 5;
    private static final long NEVER_REFILLED = 1_000_000_000_000L;

    static int slots(KeyTable table) {
        int slots = 0;
        for (SlotTable each = slotTables(table).oldest(); each != null; each = each.next()) {
            slots += each.slots();
        }
        return slots;
    }

    /** Keys whose state is not final, each as often as it is in a slot. */
    static List<String> alive(KeyTable table) {
        List<String> alive = new ArrayList<>();
        for (SlotTable each = slotTables(table).oldest(); each != null; each = each.next()) {
            for (int slot = 0; slot < each.slots(); slot++) {
                String key = each.key(slot);
                if (key != null) {
                    alive.add(key);
                }
            }
        }
        return alive;
    }

    static List<RateLimitPolicy> policies() {
        return Tables.smallPolicies().stream()
                .filter(policy -> !(policy instanceof ConcurrencyLimit))
                .filter(policy -> ((BoundedKeyTable<?>) Tables.of(policy, 1)).slots() instanceof ArraySlots)
                .toList();
    }

    /** With room for all, a key gets exactly what its policy alone gives it, however states are moved and forgotten. */
    @ParameterizedTest
    @MethodSource("policies")
    void keysThatHaveRoomAreLimitedExactlyAsIfAlone(RateLimitPolicy policy) {
        Random random = new Random(Seeds.of("exact, " + policy));
        for (int i = 0; i < (Tables.FULL ? 500 : 50); i++) {
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
            int most = 1;
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
                most = Math.max(most, slotTables(table).count());
            }
            assertThat(most).as("states must be on the move now and then").isGreaterThan(1);
            assertThat(alive(table)).doesNotHaveDuplicates().hasSize(table.size());
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
    void growingTableKeepsEveryStateAndDropsTheSlotTablesItLeft() {
        KeyTable table = Tables.of(gcra(NEVER_REFILLED, BURST), 100_000);
        for (int i = 0; i < 50_000; i++) {
            assertThat(Tables.tryDebit(table, "key" + i, i, 1 + i % BURST)).isZero();
        }
        for (int i = 0; i < 50_000; i++) {
            assertThat(table.read("key" + i, 50_000, 1).remaining()).isEqualTo(BURST - 1 - i % BURST);
        }
        assertThat(table.size()).isEqualTo(50_000);
        assertThat(slotTables(table).count()).isOne();
        assertThat(slots(table)).isBetween(50_000, 50_000 * 3);
    }

    /** The hand that sweeps went over it once. */
    @Test
    void droppedSlotTableIsNotKeptFromTheGarbageCollector() {
        KeyTable table = Tables.of(gcra(NEVER_REFILLED, BURST), 10_000);
        WeakReference<SlotTable> first = new WeakReference<>(slotTables(table).oldest());
        for (int i = 0; i < 5_000; i++) {
            Tables.tryDebit(table, "key" + i, 0, 1);
        }
        for (int i = 0; i < 100 && first.get() != null; i++) {
            System.gc();
        }
        assertThat(first.get()).isNull();
        assertThat(table.size()).isEqualTo(5_000);
    }

    /** Nobody enters any more: those who are looked up must end the move. */
    @Test
    void statesMoveOnAlsoWhenNoKeyEnters() {
        KeyTable table = Tables.of(gcra(NEVER_REFILLED, 1_000), 100_000);
        int keys = 0;
        while (keys < 10_000 || slotTables(table).count() == 1) {
            Tables.tryDebit(table, "key" + keys++, 0, 1);
        }
        String last = "key" + (keys - 1);
        for (int i = 0; i < 900 && slotTables(table).count() > 1; i++) {
            Tables.tryDebit(table, last, 0, 1);
        }
        assertThat(slotTables(table).count()).isOne();
        assertThat(table.size()).isEqualTo(keys);
    }

    @Test
    void churnUsesABoundedNumberOfSlots() {
        int maxKeys = 1_000;
        KeyTable table = Tables.of(gcra(10, BURST), maxKeys);
        int most = 0;
        for (int i = 0; i < 100 * maxKeys; i++) {
            assertThat(Tables.tryDebit(table, "key" + i, i, 1)).isZero();
            most = Math.max(most, slots(table));
        }
        assertThat(most).isLessThanOrEqualTo(2 * (2 * maxKeys + 32));
        assertThat(table.size()).isLessThanOrEqualTo(maxKeys);
        assertThat(alive(table)).hasSize(table.size());
    }

    @Test
    void keyThatIsResetAgainAndAgainUsesABoundedNumberOfSlots() {
        KeyTable table = Tables.of(gcra(NEVER_REFILLED, BURST), 10);
        for (int i = 0; i < 10_000; i++) {
            assertThat(Tables.tryDebit(table, KEY, i, BURST)).isZero();
            long at = i;
            table.reset(KEY, () -> at);
        }
        assertThat(table.size()).isOne();
        assertThat(slots(table)).isLessThanOrEqualTo(2 * 52);
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
    void keysWithOneHashCodeAreLimitedEachByItselfInABoundedNumberOfSlots() {
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
        assertThat(table.size()).isEqualTo(keys.size());
        assertThat(slots(table)).isLessThanOrEqualTo(2 * (2 * keys.size() + 32));
    }

    @Test
    void emptyTableIsSmall() {
        assertThat(slots(Tables.of(gcra(10, BURST), 1_000_000))).isLessThanOrEqualTo(64);
    }

    @Test
    void shadowIsSeenOnlyByThoseWhoKnowThatItsStateHasMoved() {
        SlotTable slots = new SlotTable(new KeyedHash(), 64);
        int shadow = slots.takeShadow(KEY, 77) & ~SlotTable.TAKEN;
        slots.setState(shadow, 1_000);
        assertThat(slots.find(KEY, 77)).isEqualTo(SlotTable.OPEN);
        assertThat(slots.locate(KEY, 77, false)).isEqualTo(SlotTable.OPEN);
        assertThat(slots.locate(KEY, 77, true)).isEqualTo(shadow);
        assertThat(slots.find(KEY, 77)).isEqualTo(shadow);
        assertThat(slots.state(shadow)).isEqualTo(1_000);
    }

    @Test
    void tableWithASuccessorIsSealedForTheKeysThatPassIt() {
        SlotTable slots = new SlotTable(new KeyedHash(), 64);
        int other = slots.take("other", 77, false);
        assertThat(other).isGreaterThanOrEqualTo(SlotTable.TAKEN);
        slots.setNext(new SlotTable(new KeyedHash(), 64));
        assertThat(slots.locate(KEY, 77, false)).isEqualTo(SlotTable.OPEN);
        assertThat(slots.take(KEY, 77, false)).isEqualTo(SlotTable.SHUT);
        assertThat(slots.locate(KEY, 77, false)).isEqualTo(SlotTable.SHUT);
        assertThat(slots.take("other", 77, false)).isEqualTo(other - SlotTable.TAKEN);
        slots.swap(other - SlotTable.TAKEN, SlotTable.ENTERING, SlotTable.MOVED);
        assertThat(slots.locate("other", 77, false)).isEqualTo(SlotTable.LEFT);
    }
}
