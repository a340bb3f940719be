package io.github.reactorratelimit.sketch;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.algorithm.Algorithms;
import io.github.reactorratelimit.algorithm.LongAlgorithm;
import io.github.reactorratelimit.algorithm.Tick;
import io.github.reactorratelimit.testing.Seeds;
import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Traffic of many keys through a sketch, beside the exact state of every single key. In full ten million keys in
 * 16 MiB; else a tenth of both and fewer asks, so that the cells are as full and the figures the same.
 */
class SketchErrorTest {

    private static final boolean FULL = Boolean.getBoolean("ratelimit.tests.full");
    private static final int KEYS = FULL ? 10_000_000 : 500_000;
    private static final long BYTES = (16L << 20) * KEYS / 10_000_000;
    private static final int ASKS = 3 * KEYS;

    /** A permit a second, ten at once. */
    private static final Gcra POLICY = new Gcra(1, java.time.Duration.ofSeconds(1), 10);

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

    /** @param load permits asked for in the time that a permit takes to come back, per cell of a row */
    private static Outcome run(Traffic traffic, long bytes, int rows, double load, long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        SketchCells cells = SketchStore.ofBytes(bytes).withRows(rows).cellsFor(POLICY);
        LongAlgorithm alone = Algorithms.asLong(POLICY, new Algorithms.Clock(Tick.NANOSECOND, 0, 0))
                .orElseThrow();
        long[] states = new long[KEYS];
        Arrays.fill(states, alone.fresh());
        double nanosPerAsk = 1e9 / (load * bytes / Long.BYTES / SketchStore.DEFAULT_ROWS);
        long deservedly = 0;
        long wrongly = 0;
        long laxly = 0;
        for (int ask = 0; ask < ASKS; ask++) {
            long now = (long) (ask * nanosPerAsk);
            int key = traffic.key(random, KEYS);
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
        return new Outcome(ASKS, deservedly, wrongly, laxly);
    }

    @ParameterizedTest
    @EnumSource
    void sketchOfTenMillionKeysInSixteenMegabytesNeverOverAdmits(Traffic traffic) {
        Outcome outcome = run(traffic, BYTES, SketchStore.DEFAULT_ROWS, 0.5, Seeds.of("sketch, " + traffic));
        System.out.printf(
                "sketch: %,d keys in %,d bytes, %s: of %,d asks %,d allowed wrongly, %,d denied rightly,"
                        + " %,d denied wrongly (%.4f %%)%n",
                KEYS,
                BYTES,
                traffic,
                outcome.asks,
                outcome.laxly,
                outcome.deservedly,
                outcome.wrongly,
                100 * outcome.wrongShare());
        assertThat(outcome.laxly).isZero();
        assertThat(outcome.wrongShare()).isLessThan(0.001);
        assertThat(outcome.deservedly > 0).isEqualTo(traffic == Traffic.ZIPF);
    }

    /** Load is what counts; the table of docs/sketch.md. */
    @Test
    void errorGrowsWithTheLoadAndNeverToTheLaxSide() {
        long seed = Seeds.of("sketch table");
        int[] rows = FULL ? new int[] {1, 2, 4, 8} : new int[] {4};
        double[] loads = FULL ? new double[] {0.25, 0.5, 1, 2, 4, 8} : new double[] {0.5, 4};
        for (Traffic traffic : Traffic.values()) {
            for (int row : rows) {
                double before = 0;
                for (double load : loads) {
                    Outcome outcome = run(traffic, BYTES / 10, row, load, seed);
                    System.out.printf(
                            "sketch: %s, %d rows, load %.2f: denied wrongly %.4f %%, rightly %.2f %%%n",
                            traffic, row, load, 100 * outcome.wrongShare(), 100.0 * outcome.deservedly / ASKS);
                    assertThat(outcome.laxly).isZero();
                    assertThat(outcome.wrongShare()).isGreaterThanOrEqualTo(before);
                    before = outcome.wrongShare();
                }
            }
        }
    }
}
