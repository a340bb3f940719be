package io.github.reactorratelimit.spi;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.Policies;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.SlidingWindowCounter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.WarmUp;
import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.algorithm.Algorithms;
import io.github.reactorratelimit.algorithm.Tick;
import io.github.reactorratelimit.testing.Seeds;
import java.time.Duration;
import java.time.ZoneId;
import java.util.HexFormat;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** A value that was written and read decides as the one that was never away. */
class KeyValueTest {

    private static final int STEPS = 2_000;

    static Stream<RateLimitPolicy> policies() {
        return Stream.of(
                TokenBucket.of(7, Duration.ofSeconds(3)),
                TokenBucket.of(7, Duration.ofSeconds(3)).stepwise(),
                new TokenBucket(100, 3, Duration.ofSeconds(1), TokenBucket.Refill.CONTINUOUS, 10),
                Gcra.of(300, Duration.ofSeconds(1)),
                LeakyBucket.of(5, Duration.ofSeconds(1)).withQueue(9),
                FixedWindow.of(9, Duration.ofSeconds(2)),
                FixedWindow.of(9, Duration.ofSeconds(2)).fromFirstRequest(),
                FixedWindow.daily(9, ZoneId.of("Europe/Berlin")),
                SlidingWindowLog.of(200, Duration.ofSeconds(2)),
                SlidingWindowCounter.of(9, Duration.ofSeconds(2)),
                new WarmUp(20, Duration.ofSeconds(1), Duration.ofSeconds(5)),
                Policies.all(
                        SlidingWindowLog.of(9, Duration.ofSeconds(2)),
                        TokenBucket.of(7, Duration.ofSeconds(3)),
                        FixedWindow.of(20, Duration.ofSeconds(9))));
    }

    private static Algorithm<?> steps(RateLimitPolicy policy) {
        return Algorithms.of(policy, new Algorithms.Clock(Tick.MICROSECOND, 0, 1_900_000_000_000_000L));
    }

    @ParameterizedTest
    @MethodSource("policies")
    void stateThatWasAwayDecidesAlike(RateLimitPolicy policy) {
        compare(steps(policy), new SplittableRandom(Seeds.of("codec of " + policy)));
    }

    private static <S> void compare(Algorithm<S> steps, SplittableRandom random) {
        long now = 1_900_000_000_000_000L;
        S kept = steps.fresh();
        for (int i = 0; i < STEPS; i++) {
            now += random.nextLong(random.nextInt(20) == 0 ? 5_000_000 : 50_000);
            KeyValue<S> value = new KeyValue<>(steps, kept, now - 5, now);
            KeyValue<?> read = KeyValue.decode(value.encode(), KeyValueTest::steps);
            assertThat(read.pausedUntil()).isEqualTo(now - 5);
            assertThat(read.now()).isEqualTo(now);
            assertThat(read.steps().policy()).isEqualTo(steps.policy());
            S away = steps.ofLongs(steps.toLongs(kept));
            long permits = 1 + random.nextLong(Math.min(3, steps.capacity()));
            assertThat(steps.read(away, now, permits)).isEqualTo(steps.read(kept, now, permits));
            if (steps.waitTicks(kept, now, permits) == 0) {
                kept = steps.debit(kept, now, permits);
                away = steps.debit(away, now, permits);
                if (random.nextInt(4) == 0) {
                    kept = steps.refund(kept, now, now, permits);
                    away = steps.refund(away, now, now, permits);
                }
                assertThat(steps.toLongs(away)).isEqualTo(steps.toLongs(kept));
            }
        }
    }

    /** Members of other versions read it. */
    @Test
    void formStaysAsItIs() {
        Algorithm<?> steps = steps(TokenBucket.perHour(10));
        assertThat(HexFormat.of().formatHex(taken(steps).encode()))
                .isEqualTo("01" + hex(1_900_000_000_000_000L) + hex(Long.MIN_VALUE)
                        + "0025" + HexFormat.of().formatHex("token-bucket 10 10 PT1H CONTINUOUS 10".getBytes(UTF_8))
                        + hex(1_900_000_000_000_000L) + hex(360_000_000L));
    }

    private static <S> KeyValue<S> taken(Algorithm<S> steps) {
        KeyValue<S> fresh = KeyValue.fresh(steps, 1_900_000_000_000_000L);
        return fresh.with(steps.debit(fresh.state(), fresh.now(), 1));
    }

    private static String hex(long value) {
        return HexFormat.of().toHexDigits(value);
    }
}
