package io.github.reactorratelimit.algorithm;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.SlidingWindowCounter;
import io.github.reactorratelimit.algorithm.Algorithms.Clock;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** An adversary that tries every schedule: how many permits a sliding window counter grants at most in a window's length. */
class CounterWorstCaseTest {

    private static final int WINDOWS_BEFORE = 2;

    @ParameterizedTest
    @CsvSource({"1,3", "1,10", "2,5", "2,13", "3,7", "3,20", "4,9", "5,11", "6,13"})
    void noScheduleGetsMoreThanTwiceTheLimitAndSomeGetThat(long limit, int window) {
        Algorithm<?> counter = Algorithms.of(
                SlidingWindowCounter.of(limit, Duration.ofNanos(window)), new Clock(Tick.NANOSECOND, 0, 0));
        long most = 0;
        for (int from = WINDOWS_BEFORE * window; from < (WINDOWS_BEFORE + 1) * window; from++) {
            most = Math.max(most, mostGranted(counter, from, from + window));
        }
        System.out.printf("limit %d in %d ticks: at most %d permits in any %d ticks%n", limit, window, most, window);
        assertThat(most).isEqualTo(2 * limit);
    }

    /** Of all schedules from time 0 on, the most that one is granted between two times. */
    private static <S> long mostGranted(Algorithm<S> algorithm, long from, long to) {
        Map<S, Long> granted = Map.of(algorithm.fresh(), 0L);
        for (long now = 0; now < to; now++) {
            Map<S, Long> next = new HashMap<>();
            for (Map.Entry<S, Long> reached : granted.entrySet()) {
                next.merge(reached.getKey(), reached.getValue(), Math::max);
                long remaining = algorithm.remaining(reached.getKey(), now);
                for (long permits = 1; permits <= remaining; permits++) {
                    S state = algorithm.debit(reached.getKey(), now, permits);
                    next.merge(state, reached.getValue() + (now < from ? 0 : permits), Math::max);
                }
            }
            granted = next;
        }
        return granted.values().stream().mapToLong(Long::longValue).max().orElseThrow();
    }
}
