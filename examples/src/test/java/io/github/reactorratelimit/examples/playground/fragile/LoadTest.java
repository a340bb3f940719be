package io.github.reactorratelimit.examples.playground.fragile;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class LoadTest {

    private static final long START_NANOS = -5_000;
    private static final int PER_SECOND = 40;
    private static final long WORK_NANOS = Duration.ofMillis(25).toNanos();

    private final Load load = new Load(START_NANOS);

    private int takenOf(int calls, long atNanos, Breaks breaks) {
        int taken = 0;
        for (int i = 0; i < calls; i++) {
            taken += load.take(atNanos, PER_SECOND, breaks) ? 1 : 0;
        }
        return taken;
    }

    @ParameterizedTest
    @EnumSource(Breaks.class)
    void whatComesAtTheRateOfTheServerIsAlwaysBorne(Breaks breaks) {
        for (int i = 0; i < 1_000; i++) {
            assertThat(load.take(START_NANOS + i * WORK_NANOS, PER_SECOND, breaks))
                    .isTrue();
        }
        assertThat(load.busyNanos(START_NANOS + 999 * WORK_NANOS)).isEqualTo(WORK_NANOS);
    }

    @Test
    void aRefusalCostsNothing() {
        assertThat(takenOf(60, START_NANOS, Breaks.REFUSES)).isEqualTo(11);
        assertThat(load.busyNanos(START_NANOS)).isEqualTo(11 * WORK_NANOS);
        assertThat(takenOf(2, START_NANOS + WORK_NANOS, Breaks.REFUSES)).isEqualTo(1);
    }

    @Test
    void aFailureCostsAsMuchAsAnAnswerUpToTheTimeOfRecovery() {
        assertThat(takenOf(13, START_NANOS, Breaks.FAILS)).isEqualTo(11);
        assertThat(load.busyNanos(START_NANOS)).isEqualTo(13 * WORK_NANOS);

        assertThat(takenOf(1_000, START_NANOS, Breaks.FAILS)).isZero();
        long recovered = START_NANOS + Load.RECOVERY.toNanos();
        assertThat(load.busyNanos(recovered)).isEqualTo(Load.TOLERANCE.toNanos());
        assertThat(takenOf(1, recovered, Breaks.FAILS)).isEqualTo(1);
    }

    @Test
    void aSlowServerTakesInUntilItsLineIsFull() {
        assertThat(takenOf(1_000, START_NANOS, Breaks.SLOWS_DOWN)).isEqualTo(121);
        assertThat(load.busyNanos(START_NANOS)).isEqualTo(121 * WORK_NANOS);
    }
}
