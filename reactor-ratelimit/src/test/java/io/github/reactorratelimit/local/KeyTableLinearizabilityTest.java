package io.github.reactorratelimit.local;

import static io.github.reactorratelimit.local.Tables.at;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.algorithm.Algorithms;
import io.github.reactorratelimit.algorithm.LongAlgorithm;
import io.github.reactorratelimit.local.Cell.Shared;
import java.util.Iterator;
import java.util.function.BiConsumer;
import org.jetbrains.lincheck.LincheckAssertionError;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.jetbrains.lincheck.datastructures.StressOptions;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/**
 * Lincheck runs random scenarios of two threads many times: every outcome must be one that the steps give when
 * they run one after the other. The clock stands still, so permits come back by refund or reset only.
 *
 * <p>A minute or more: part of the long forms, {@code -Pfull}.
 */
@Tag("slow")
@EnabledIfSystemProperty(named = "ratelimit.tests.full", matches = "true")
class KeyTableLinearizabilityTest {

    private static final int SCENARIOS = Tables.FULL ? 200 : 10;
    private static final int RUNS = Tables.FULL ? 10_000 : 300;

    private static void check(Class<?> operations, int scenarios) {
        new StressOptions()
                .iterations(scenarios)
                .invocationsPerIteration(RUNS)
                .threads(2)
                .actorsPerThread(3)
                .actorsBefore(1)
                .actorsAfter(2)
                .minimizeFailedScenario(false)
                .check(operations);
    }

    @Test
    void stepsOnArraySlotsAreLinearizable() {
        check(OnArraySlots.class, SCENARIOS);
    }

    @Test
    void stepsOnMapSlotsAreLinearizable() {
        check(OnMapSlots.class, SCENARIOS);
    }

    /** The planted fault: the check ends with the first scenario that shows it. */
    @Test
    void stateThatIsWrittenInsteadOfSwappedIsFound() {
        assertThatThrownBy(() -> check(OnPlainWrites.class, 1_000)).isInstanceOf(LincheckAssertionError.class);
    }

    /** What the threads do. One slot table is almost crowded, so that a key that enters begins a rehash. */
    public abstract static class Operations {

        private static final int MAX_KEYS = 4;
        private static final int USED_SLOTS = 29;
        private static final Gcra NEVER_REFILLED = Tables.gcra(1_000_000_000_000L, 2);

        private final KeyTable table;

        Operations(KeyTable table) {
            this.table = table;
            for (int i = 0; i < USED_SLOTS; i++) {
                table.tryTake("other", 0, 1);
                table.reset("other", at(0));
            }
        }

        static LongAlgorithm steps() {
            return Algorithms.asLong(NEVER_REFILLED, Tables.CLOCK).orElseThrow();
        }

        static Shared<Long> shared(LongAlgorithm steps) {
            return Shared.of(steps, EvictionHorizon.of(NEVER_REFILLED, Tables.CLOCK));
        }

        static KeyTable table(Slots<Long> slots, Shared<Long> shared) {
            ObjectCell<Long> pristine = ObjectCell.fresh(shared);
            return new BoundedKeyTable<>(slots, pristine, false, new OverflowCells<>(pristine, MAX_KEYS, 1), null);
        }

        @Operation
        public boolean take(@Param(gen = IntGen.class, conf = "0:1") int key) {
            return table.tryTake("key" + key, 1, 1);
        }

        @Operation
        public boolean debit(@Param(gen = IntGen.class, conf = "0:1") int key) {
            return table.debit("key" + key, 1, 2).allowed();
        }

        @Operation
        public void refund(@Param(gen = IntGen.class, conf = "0:1") int key) {
            table.refund("key" + key, at(1), 1, 1);
        }

        @Operation
        public void reset(@Param(gen = IntGen.class, conf = "0:1") int key) {
            table.reset("key" + key, at(0));
        }

        @Operation
        public void evict() {
            ((BoundedKeyTable<?>) table).slots().evictor().evict(1);
        }

        @Operation
        public long remaining(@Param(gen = IntGen.class, conf = "0:1") int key) {
            return table.read("key" + key, 1, 1).remaining();
        }
    }

    public static class OnArraySlots extends Operations {

        public OnArraySlots() {
            super(table(steps()));
        }

        private static KeyTable table(LongAlgorithm steps) {
            Shared<Long> shared = shared(steps);
            return table(new ArraySlots(steps, shared, Operations.MAX_KEYS), shared);
        }
    }

    public static class OnMapSlots extends Operations {

        public OnMapSlots() {
            super(table(shared(steps())));
        }

        private static KeyTable table(Shared<Long> shared) {
            return table(new MapSlots<>(shared, Operations.MAX_KEYS), shared);
        }
    }

    public static class OnPlainWrites extends Operations {

        public OnPlainWrites() {
            super(table(steps()));
        }

        private static KeyTable table(LongAlgorithm steps) {
            Shared<Long> shared = shared(steps);
            return table(new PlainWrites(new ArraySlots(steps, shared, Operations.MAX_KEYS), steps), shared);
        }
    }

    /** Array slots whose fast path writes the next state without comparing; it yields to be found sooner. */
    private record PlainWrites(ArraySlots slots, LongAlgorithm steps) implements Slots<Long> {

        @Override
        public Cell.Outcome tryTake(String key, long at, long permits) {
            ArraySlot own = slots.find(key);
            Long seen = own == null ? null : own.state();
            if (own == null || seen == null) {
                return Cell.Outcome.GONE;
            }
            long next = steps.take(seen, at, permits);
            if (next == LongAlgorithm.RESERVED) {
                return Cell.Outcome.DENIED;
            }
            Thread.yield();
            own.table.setState(own.slot, next);
            return Cell.Outcome.TAKEN;
        }

        @Override
        public @Nullable Cell<Long> find(String key) {
            return slots.find(key);
        }

        @Override
        public boolean enter(String key) {
            return slots.enter(key);
        }

        @Override
        public void begin(String key, Cell<Long> entering, ObjectCell<Long> start) {
            slots.begin(key, entering, start);
        }

        @Override
        public void leave(String key, Cell<Long> entering) {
            slots.leave(key, entering);
        }

        @Override
        public void restart(String key, Cell<Long> killed) {
            slots.restart(key, killed);
        }

        @Override
        public Evictor evictor() {
            return slots.evictor();
        }

        @Override
        public void rehash(long now, BiConsumer<String, Cell<Long>> beginner) {
            slots.rehash(now, beginner);
        }

        @Override
        public Iterator<String> keys() {
            return slots.keys();
        }

        @Override
        public boolean hasRoom() {
            return slots.hasRoom();
        }

        @Override
        public int size() {
            return slots.size();
        }
    }
}
