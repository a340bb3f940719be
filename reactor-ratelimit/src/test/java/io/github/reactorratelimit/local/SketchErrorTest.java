package io.github.reactorratelimit.local;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.algorithm.Algorithms;
import io.github.reactorratelimit.algorithm.LongAlgorithm;
import io.github.reactorratelimit.algorithm.Tick;
import io.github.reactorratelimit.testing.Seeds;
import java.time.Duration;
import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Traffic of many keys through a sketch, beside the exact state of every single key. In full ten million keys in
 * 16 MiB; else a tenth of both and fewer asks, so that the cells are as full and the figures the same.
 */
class SketchErrorTest {

    private static final boolean FULL = Boolean.getBoolean("ratelimit.tests.full");
    private static final int KEYS = FULL ? 10_000_000 : 500_000;
    private static final long BYTES = (16L << 20) * KEYS / 10_000_000;

    private static final long TABLE_BYTES = 1 << 18;

    enum Traffic {
        /** Every key asks as often as every other. */
        UNIFORM {
            @Override
            int key(SplittableRandom random, int keys) {
                return random.nextInt(keys);
            }
        },
        /** The n-th key asks an n-th as often as the first. */
        ZIPF {
            @Override
            int key(SplittableRandom random, int keys) {
                return (int) Math.exp(random.nextDouble() * Math.log(keys));
            }
        };

        abstract int key(SplittableRandom random, int keys);
    }

    /**
     * @param deservedly asks that the key's own state denies
     * @param wrongly asks denied that the key's own state allows
     * @param laxly asks allowed that the key's own state denies
     */
    private record Outcome(long asks, long deservedly, long wrongly, long laxly) {

        double wrongShare() {
            return (double) wrongly / asks;
        }
    }

    /**
     * Every key may take a permit a second.
     *
     * @param asksPerSecond of all keys together: so many permits are on their way back at a time, if all are allowed
     */
    private record Setting(Traffic traffic, int keys, long bytes, int rows, int burst, double asksPerSecond) {

        /** @param cellsPerPermit cells of all rows for each permit that is on its way back */
        static Setting of(Traffic traffic, int keys, long bytes, int rows, int burst, double cellsPerPermit) {
            return new Setting(traffic, keys, bytes, rows, burst, bytes / Long.BYTES / cellsPerPermit);
        }

        Outcome run(int asks, long seed) {
            Gcra policy = new Gcra(1, Duration.ofSeconds(1), burst);
            SplittableRandom random = new SplittableRandom(seed);
            SketchTable cells = SketchStore.ofBytes(bytes).withRows(rows).table(policy);
            LongAlgorithm alone = Algorithms.asLong(policy, new Algorithms.Clock(Tick.NANOSECOND, 0, 0))
                    .orElseThrow();
            long[] states = new long[keys];
            Arrays.fill(states, alone.fresh());
            long deservedly = 0;
            long wrongly = 0;
            long laxly = 0;
            for (int ask = 0; ask < asks; ask++) {
                long now = (long) (ask * 1e9 / asksPerSecond);
                int key = traffic.key(random, keys);
                long next = alone.take(states[key], now, 1);
                boolean deserved = next != LongAlgorithm.RESERVED;
                if (!cells.take(Integer.toString(key), now, 1, null)) {
                    deservedly += deserved ? 0 : 1;
                    wrongly += deserved ? 1 : 0;
                } else if (deserved) {
                    states[key] = next;
                } else {
                    laxly++;
                }
            }
            return new Outcome(asks, deservedly, wrongly, laxly);
        }
    }

    @ParameterizedTest
    @EnumSource
    void sketchOfTenMillionKeysInSixteenMegabytesNeverOverAdmits(Traffic traffic) {
        Setting setting = Setting.of(traffic, KEYS, BYTES, SketchStore.DEFAULT_ROWS, 10, 8);
        Outcome outcome = setting.run(3 * KEYS, Seeds.of("sketch, " + traffic));
        System.out.printf(
                "sketch: %,d keys in %,d bytes, %s, %,.0f asks a second: of %,d asks %,d allowed wrongly,"
                        + " %,d denied rightly, %,d denied wrongly (%.4f %%)%n",
                KEYS,
                BYTES,
                traffic,
                setting.asksPerSecond,
                outcome.asks,
                outcome.laxly,
                outcome.deservedly,
                outcome.wrongly,
                100 * outcome.wrongShare());
        assertThat(outcome.laxly).isZero();
        assertThat(outcome.wrongShare()).isLessThan(0.001);
        assertThat(outcome.deservedly > 0).isEqualTo(traffic == Traffic.ZIPF);
    }

    /** The table of docs/sketch.md. */
    @ParameterizedTest
    @EnumSource
    void errorIsToTheStrictSideInEverySize(Traffic traffic) {
        long seed = Seeds.of("sketch table, " + traffic);
        int[] rows = FULL ? new int[] {1, 2, 4, 8} : new int[] {4};
        int[] bursts = FULL ? new int[] {1, 10} : new int[] {10};
        double[] cellsPerPermit = FULL ? new double[] {32, 16, 8, 4, 2, 1} : new double[] {8, 1};
        for (int burst : bursts) {
            for (int row : rows) {
                for (double cells : cellsPerPermit) {
                    double wrong = table(Setting.of(traffic, 1_000_000, TABLE_BYTES, row, burst, cells), cells, seed);
                    if (burst == 10 && row == SketchStore.DEFAULT_ROWS && cells >= 8) {
                        assertThat(wrong).isLessThan(0.001);
                    }
                }
            }
        }
    }

    /** How many keys there are does not matter, only what they ask for together. */
    @ParameterizedTest
    @ValueSource(ints = {100_000, 1_000_000, 5_000_000})
    void errorDoesNotGrowWithTheNumberOfKeys(int keys) {
        Setting setting = Setting.of(Traffic.UNIFORM, keys, TABLE_BYTES, SketchStore.DEFAULT_ROWS, 10, 8);
        assertThat(table(setting, 8, Seeds.of("sketch keys"))).isLessThan(0.001);
    }

    private static double table(Setting setting, double cellsPerPermit, long seed) {
        // A minute, or longer: the cells must have time to fill.
        Outcome outcome = setting.run((int) Math.max(300_000, 60 * setting.asksPerSecond), seed);
        System.out.printf(
                "sketch: %s, %,d keys, burst %d, %d rows, %.0f cells per permit: denied wrongly %.4f %%,"
                        + " rightly %.2f %%%n",
                setting.traffic,
                setting.keys,
                setting.burst,
                setting.rows,
                cellsPerPermit,
                100 * outcome.wrongShare(),
                100.0 * outcome.deservedly / outcome.asks);
        assertThat(outcome.laxly).isZero();
        return outcome.wrongShare();
    }
}
