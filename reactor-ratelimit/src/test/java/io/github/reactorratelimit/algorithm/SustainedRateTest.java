package io.github.reactorratelimit.algorithm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.SlidingWindowCounter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.algorithm.Algorithms.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** A caller who takes every permit as soon as it is there gets the configured rate, to 0.1 %. */
class SustainedRateTest {

    private static final long LONGEST_TICKS = 4_000_000_000_000_000_000L;

    record Rate(long permits, Duration period, long capacity) {}

    private static final List<Rate> UNCOUNTABLE_IN_MICROS = List.of(
            new Rate(33_333_333, Duration.ofSeconds(1), 1L << 49),
            new Rate((1L << 52) - 1, Duration.ofDays(365), 1L << 52),
            new Rate(642_857_143, Duration.ofSeconds(1), 1L << 52));

    static Stream<Rate> awkwardRates() {
        Duration second = Duration.ofSeconds(1);
        return Stream.of(
                new Rate(100, Duration.ofMinutes(1), 100),
                new Rate(100, Duration.ofMinutes(1), 1),
                new Rate(7, Duration.ofSeconds(3), 1),
                new Rate(7, Duration.ofSeconds(3), 7),
                new Rate(3, second, 2),
                new Rate(1, Duration.ofDays(100), 1),
                new Rate(1, Duration.ofDays(366), 1),
                new Rate(300_000, second, 300_000),
                new Rate(300_000, second, 2),
                new Rate(999_983, second, 10),
                new Rate(999_983, second, 1L << 40),
                new Rate(33_333_333, second, 1L << 49),
                new Rate(33_333_333, second, 40),
                new Rate(1_000_000_000, second, 1_000_000_000),
                new Rate(2_000_000_000, second, 4_000),
                new Rate(1_999_999_999, second, 10_000_000_000L),
                new Rate(1_999_999_999, second, 1L << 52),
                new Rate((1L << 52) - 1, Duration.ofDays(365), 1L << 52),
                new Rate(642_857_143, second, 1L << 52),
                new Rate(1, second, 31_000_000));
    }

    @ParameterizedTest
    @MethodSource("awkwardRates")
    void bucketsKeepTheRateAtOneNanosecond(Rate rate) {
        policies(rate).forEach(policy -> keeps(policy, rate, Tick.NANOSECOND));
    }

    @ParameterizedTest
    @MethodSource("awkwardRates")
    void bucketsKeepTheRateAtOneMicrosecondOrAreRefused(Rate rate) {
        List<RateLimitPolicy> refused = new ArrayList<>();
        for (RateLimitPolicy policy : policies(rate)) {
            try {
                Algorithms.of(policy, clock(Tick.MICROSECOND));
            } catch (IllegalArgumentException e) {
                assertThat(e).hasMessageMatching("(burst|capacity|queueCapacity) " + rate.capacity + " .*");
                refused.add(policy);
                continue;
            }
            keeps(policy, rate, Tick.MICROSECOND);
        }
        assertThat(refused).as("refused at 1 us").hasSize(UNCOUNTABLE_IN_MICROS.contains(rate) ? 3 : 0);
    }

    private static List<RateLimitPolicy> policies(Rate rate) {
        return List.of(
                new Gcra(rate.permits, rate.period, rate.capacity),
                new TokenBucket(rate.capacity, rate.permits, rate.period),
                new LeakyBucket(rate.permits, rate.period, rate.capacity));
    }

    private static Clock clock(Tick tick) {
        return new Clock(tick, 0, 0);
    }

    private static void keeps(RateLimitPolicy policy, Rate rate, Tick tick) {
        double perTick = (double) rate.permits / tick.ticks("period", rate.period);
        double measured = ratePerTick(Algorithms.of(policy, clock(tick)));
        assertThat(measured / perTick).as("%s at %s", policy, tick).isBetween(0.999, 1.000_1);
        Algorithms.asLong(policy, clock(tick))
                .ifPresent(packed -> assertThat(ratePerTick(packed))
                        .as("%s over longs", policy)
                        .isEqualTo(measured));
    }

    /** From the first permit after the burst to one much later: permits between them per tick. */
    private static <S> double ratePerTick(Algorithm<S> algorithm) {
        long now = 1_000;
        S state = algorithm.debit(algorithm.fresh(), now, algorithm.capacity());
        long from = 0;
        double permits = 0;
        for (int i = 0; i <= 20_000 && now < LONGEST_TICKS; i++) {
            now += algorithm.waitTicks(state, now, 1);
            long available = isQueue(algorithm) ? 1 : algorithm.remaining(state, now);
            if (i == 0) {
                from = now;
            } else {
                permits += available;
            }
            do {
                state = algorithm.debit(state, now, available);
                available = isQueue(algorithm) && algorithm.waitTicks(state, now, 1) == 0 ? 1 : 0;
                permits += available;
            } while (available > 0);
        }
        return permits / (now - from);
    }

    private static boolean isQueue(Algorithm<?> algorithm) {
        return algorithm.policy() instanceof LeakyBucket;
    }

    @ParameterizedTest
    @EnumSource
    void windowsGiveTheirLimitOncePerWindow(Tick tick) {
        Duration window = Duration.ofMillis(7);
        long ticks = tick.ticks("window", window);
        for (RateLimitPolicy policy : List.of(
                FixedWindow.of(13, window),
                FixedWindow.of(13, window).fromFirstRequest(),
                SlidingWindowLog.of(13, window),
                SlidingWindowCounter.of(13, window))) {
            double perWindow = ratePerTick(Algorithms.of(policy, clock(tick))) * ticks;
            assertThat(perWindow / 13).as("%s", policy).isBetween(0.999, 1.001);
        }
    }

    @Test
    void capacityThatCannotBeCountedInMicrosecondsIsRefusedByName() {
        TokenBucket policy = new TokenBucket(1L << 52, 642_857_143, Duration.ofSeconds(1));
        assertThatThrownBy(() -> Algorithms.of(policy, clock(Tick.MICROSECOND)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("capacity 4503599627370496 at 642857143 per PT1S cannot be counted to 0.1 % in steps of"
                        + " one MICROSECOND; lower it");
    }

    @Test
    void burstTooSmallForItsRateIsRefusedWithOneThatWouldDo() {
        Gcra policy = Gcra.perSecond(3_000).withBurst(1);
        assertThatThrownBy(() -> Algorithms.of(policy, clock(Tick.MICROSECOND)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("burst 1 is too small to keep 3000 per PT1S to 0.1 % in steps of one MICROSECOND;"
                        + " raise it to 2");
        keeps(policy.withBurst(2), new Rate(3_000, Duration.ofSeconds(1), 2), Tick.MICROSECOND);
    }

    @Test
    void counterWhoseLimitLeavesTooFewGrainsIsRefused() {
        SlidingWindowCounter policy = SlidingWindowCounter.of(1L << 52, Duration.ofSeconds(1));
        assertThat(Algorithms.of(policy, clock(Tick.NANOSECOND))).isNotNull();
        assertThatThrownBy(() -> Algorithms.of(policy, clock(Tick.MICROSECOND)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("limit 4503599627370496 per PT1S cannot be counted");
    }

    @Test
    void periodThatIsNoWholeNumberOfTicksIsRefused() {
        assertThatThrownBy(() -> Algorithms.of(TokenBucket.of(1, Duration.ofNanos(1)), clock(Tick.MICROSECOND)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("period must be a whole number of microseconds in this store, was PT0.000000001S");
    }
}
