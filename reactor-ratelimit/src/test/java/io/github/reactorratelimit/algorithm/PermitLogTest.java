package io.github.reactorratelimit.algorithm;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.testing.Seeds;
import java.time.Duration;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** The log with many entries, where whole chunks come and go. */
class PermitLogTest {

    private static final long WINDOW = 1_000_000;

    @Test
    void longLogsAgreeWithAPlainListAcrossChunks() {
        long seed = Seeds.of("long logs");
        for (int i = 0; i < 60; i++) {
            SplittableRandom random = new SplittableRandom(seed + i);
            int limit = 100 + random.nextInt(900);
            compare(limit, random, seed + i);
        }
    }

    private static void compare(int limit, SplittableRandom random, long seed) {
        LogAlgorithm algorithm = new LogAlgorithm(SlidingWindowLog.of(limit, Duration.ofNanos(WINDOW)), WINDOW);
        SlidingLogModel model = new SlidingLogModel(limit, WINDOW);
        PermitLog state = algorithm.fresh();
        long now = 0;
        long[] granted = new long[4_000];
        int grants = 0;
        for (int step = 0; step < granted.length; step++) {
            now += random.nextInt(50) == 0 ? random.nextLong(WINDOW) : random.nextLong(WINDOW / limit);
            if (grants > 0 && random.nextInt(5) == 0) {
                int index = Math.max(0, grants - 1 - random.nextInt(200));
                state = algorithm.refund(state, now, granted[index], 1);
                model.refund(now, granted[index], 1);
                granted[index] = Long.MIN_VALUE;
            }
            boolean allowed = model.allows(now, 1);
            long wait = algorithm.waitTicks(state, now, 1);
            assertThat(wait).as("seed %s step %s", seed, step).isEqualTo(allowed ? 0 : model.retry(now, 1));
            if (allowed) {
                state = algorithm.debit(state, now, 1);
                model.debit(now, 1);
                granted[grants++] = now;
            }
            assertThat(algorithm.remaining(state, now))
                    .as("seed %s step %s", seed, step)
                    .isEqualTo(model.remaining(now));
            assertThat(algorithm.resetTicks(state, now))
                    .as("seed %s step %s", seed, step)
                    .isEqualTo(model.reset(now));
        }
    }

    @Test
    void tenThousandEntriesExpireOneByOne() {
        LogAlgorithm algorithm = new LogAlgorithm(SlidingWindowLog.of(10_000, Duration.ofNanos(WINDOW)), WINDOW);
        PermitLog state = algorithm.fresh();
        for (int i = 0; i < 10_000; i++) {
            assertThat(algorithm.waitTicks(state, 10 * i, 1)).isZero();
            state = algorithm.debit(state, 10 * i, 1);
        }
        assertThat(algorithm.waitTicks(state, 100_000, 1)).isEqualTo(WINDOW - 100_000);
        assertThat(algorithm.waitTicks(state, 100_000, 5_000)).isEqualTo(WINDOW - 100_000 + 49_990);
        assertThat(algorithm.remaining(state, WINDOW + 50_000)).isEqualTo(5_001);
        assertThat(algorithm.resetTicks(state, 100_000)).isEqualTo(WINDOW - 10);
    }

    @Test
    void olderStatesStayAsTheyWere() {
        PermitLog one = PermitLog.EMPTY.plus(10, 1, Long.MIN_VALUE);
        PermitLog two = one.plus(20, 2, Long.MIN_VALUE);
        PermitLog merged = two.plus(20, 3, Long.MIN_VALUE);
        PermitLog less = merged.minus(10, 1);
        assertThat(one.after(0)).isEqualTo(1);
        assertThat(two.after(0)).isEqualTo(3);
        assertThat(merged.after(0)).isEqualTo(6);
        assertThat(less.after(0)).isEqualTo(5);
        assertThat(less.minus(20, 9)).as("never more than there is").isSameAs(PermitLog.EMPTY);
        assertThat(less.minus(15, 1)).isSameAs(less);
    }

    @Test
    void logsThatFollowTheSameOneDoNotMix() {
        PermitLog common = PermitLog.EMPTY.plus(10, 1, Long.MIN_VALUE);
        PermitLog one = common.plus(20, 2, Long.MIN_VALUE);
        PermitLog other = common.plus(30, 4, Long.MIN_VALUE);
        PermitLog onAndOn = one.plus(40, 8, Long.MIN_VALUE);
        assertThat(common.toLongs()).containsExactly(10, 1);
        assertThat(one.toLongs()).containsExactly(10, 1, 20, 2);
        assertThat(other.toLongs()).containsExactly(10, 1, 30, 4);
        assertThat(onAndOn.toLongs()).containsExactly(10, 1, 20, 2, 40, 8);
        assertThat(onAndOn.minus(20, 2).toLongs()).containsExactly(10, 1, 40, 8);
        assertThat(PermitLog.EMPTY.isEmpty()).isTrue();
    }
}
