package io.github.reactorratelimit.local;

import static io.github.reactorratelimit.local.Tables.at;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.algorithm.Algorithms;
import io.github.reactorratelimit.algorithm.LongAlgorithm;
import io.github.reactorratelimit.local.Cell.Shared;
import io.github.reactorratelimit.local.CellMap.Maker;
import org.jetbrains.lincheck.LincheckAssertionError;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.jetbrains.lincheck.datastructures.StressOptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Lincheck runs random scenarios of two threads many times: every outcome must be one that the steps give when
 * they run one after the other. The clock stands still, so permits come back by refund or reset only.
 *
 * <p>Some seconds; the long form, {@code -Pfull}, takes minutes.
 */
@Tag("lincheck")
@Tag("slow")
class KeyTableLinearizabilityTest {

    private static final int SCENARIOS = Tables.FULL ? 200 : 4;
    private static final int RUNS = Tables.FULL ? 10_000 : 200;

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
    void stepsOnLongsAreLinearizable() {
        check(OnLongs.class, SCENARIOS);
    }

    @Test
    void stepsOnObjectsAreLinearizable() {
        check(OnObjects.class, SCENARIOS);
    }

    /** The planted fault: the check ends with the first scenario that shows it. */
    @Test
    void stateThatIsWrittenInsteadOfSwappedIsFound() {
        assertThatThrownBy(() -> check(OnPlainWrites.class, 1_000)).isInstanceOf(LincheckAssertionError.class);
    }

    /** What the threads do. The map is almost crowded, so that a key that enters makes it grow. */
    public abstract static class Operations {

        private static final int MAX_KEYS = 64;
        private static final int OTHERS = 16;
        private static final Gcra NEVER_REFILLED = Tables.gcra(1_000_000_000_000L, 2);

        private final KeyTable table;

        Operations(KeyTable table) {
            this.table = table;
            for (int i = 0; i < OTHERS; i++) {
                table.tryTake("other" + i, 0, 1);
                if (i % 2 == 0) {
                    table.reset("other" + i, at(0));
                }
            }
        }

        static LongAlgorithm steps() {
            return Algorithms.asLong(NEVER_REFILLED, Tables.CLOCK).orElseThrow();
        }

        static KeyTable table(Maker<Long> maker) {
            Shared<Long> shared = new Shared<>(steps(), EvictionHorizon.of(NEVER_REFILLED, Tables.CLOCK));
            Cell<Long> pristine = maker.make("", 0);
            pristine.begin(shared, pristine);
            return new BoundedKeyTable<>(
                    new CellMap<>(maker, MAX_KEYS),
                    shared,
                    pristine,
                    new OverflowCells<>(() -> maker.make("", 0), MAX_KEYS, 1),
                    null);
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
            ((BoundedKeyTable<?>) table).evictor().evict(1);
        }

        @Operation
        public long remaining(@Param(gen = IntGen.class, conf = "0:1") int key) {
            return table.read("key" + key, 1, 1).remaining();
        }
    }

    public static class OnLongs extends Operations {

        public OnLongs() {
            super(table(LongCell::new));
        }
    }

    public static class OnObjects extends Operations {

        public OnObjects() {
            super(table(ObjectCell::new));
        }
    }

    public static class OnPlainWrites extends Operations {

        public OnPlainWrites() {
            super(table(PlainCell::new));
        }
    }
}
