package io.github.reactorratelimit.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.Policies;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.SlidingWindowCounter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import java.time.Duration;
import java.time.ZoneId;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class ScriptPolicyTest {

    private static final Duration NANO = Duration.ofNanos(1);
    private static final ServerClock CLOCK = ScriptSteps.clockAt(77);

    private static String text(RateLimitPolicy policy) {
        return ScriptPolicy.of(policy).text(CLOCK);
    }

    static Stream<Arguments> policies() {
        Duration second = Duration.ofSeconds(1);
        return Stream.of(
                Arguments.of(Gcra.perSecond(3), "0,-,1 level 0 3 1000000 3 0 0"),
                Arguments.of(TokenBucket.perSecond(10).withInitialTokens(4), "0,-,1 level 0 1 100000 10 600000 77"),
                Arguments.of(LeakyBucket.perSecond(3).withQueue(8), "0,-,1 level 1 3 1000000 8 0 0"),
                Arguments.of(new TokenBucket(9, 2, second).stepwise(), "0,-,0 stepwise_bucket 9 2 1000000"),
                Arguments.of(FixedWindow.of(5, second).fromFirstRequest(), "0,-,0 fixed_window 5 1 1000000"),
                Arguments.of(SlidingWindowLog.of(5, second), "0,-,1 sliding_log 5 1000000"),
                Arguments.of(SlidingWindowCounter.of(5, second), "0,-,0 sliding_counter 5 1000000 1 1000000"),
                Arguments.of(
                        SlidingWindowCounter.of(1L << 40, second),
                        "0,-,0 sliding_counter 1099511627776 1000000 123 8131"),
                Arguments.of(
                        Policies.all(
                                TokenBucket.of(7, Duration.ofSeconds(3)), FixedWindow.of(5, NANO.multipliedBy(2_000))),
                        "0,-,0 level 0 7 3000000 7 0 0;fixed_window 5 0 2"),
                Arguments.of(TokenBucket.of(7, Duration.ofDays(100)), "0,-,1 level 0 7 8640000000000 7 0 0"));
    }

    @ParameterizedTest
    @MethodSource("policies")
    void parametersAreTheIntegersOfTheJavaSteps(RateLimitPolicy policy, String expected) {
        assertThat(text(policy)).isEqualTo(expected);
    }

    @ParameterizedTest
    @ValueSource(longs = {0, -1, Long.MIN_VALUE})
    void commandForNoPermitsIsRefused(long permits) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Command.acquire(permits))
                .withMessageContaining("permits")
                .withMessageContaining(Long.toString(permits));
        assertThatIllegalArgumentException().isThrownBy(() -> Command.peek(permits));
        assertThatIllegalArgumentException().isThrownBy(() -> Command.reserve(permits, 1, 1));
    }

    @Test
    void calendarWindowsFollowTheTime() {
        ServerClock clock = ScriptSteps.clockAt(0);
        ScriptPolicy policy = ScriptPolicy.of(FixedWindow.monthly(3, ZoneId.of("UTC")));
        clock.learn(0);
        assertThat(policy.text(clock)).endsWith(" 3 2 -2678400000000 0 2678400000000 5097600000000");
        clock.learn(Duration.ofDays(100).toMillis() * 1000);
        assertThat(policy.text(clock)).endsWith(" 3 2 5097600000000 7776000000000 10368000000000 13046400000000");
    }

    static Stream<Arguments> inexact() {
        Duration second = Duration.ofSeconds(1);
        return Stream.of(
                Arguments.of(TokenBucket.of(1, NANO), "period"),
                Arguments.of(TokenBucket.of(1, NANO).stepwise(), "period"),
                Arguments.of(Gcra.of(1, Duration.ofNanos(1_001)), "period"),
                Arguments.of(LeakyBucket.of(1, NANO), "period"),
                Arguments.of(FixedWindow.of(1, NANO), "window"),
                Arguments.of(FixedWindow.of(1, NANO).fromFirstRequest(), "window"),
                Arguments.of(SlidingWindowLog.of(1, NANO), "window"),
                Arguments.of(SlidingWindowCounter.of(1, NANO), "window"),
                Arguments.of(SlidingWindowCounter.of(1L << 50, second), "limit 1125899906842624"),
                Arguments.of(new TokenBucket(1L << 52, 1_425, Duration.ofNanos(10_000)), "capacity 4503599627370496"),
                Arguments.of(Policies.all(TokenBucket.perSecond(1), FixedWindow.of(1, NANO)), "window"));
    }

    @ParameterizedTest
    @MethodSource("inexact")
    void whatRedisCannotHoldExactlyIsRefusedByName(RateLimitPolicy policy, String name) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> ScriptPolicy.of(policy))
                .withMessageContaining(name);
    }

    @Test
    void commandsThatCannotBeAreRefusedByName() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Command.chargeRemaining(-(1L << 53)))
                .withMessageContaining("permits");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Command.refund(1, 1L << 53))
                .withMessageContaining("debitedAtMicros");
    }

    /** What a call may cost bounds how long the server is busy: measured, rounded up. */
    @Test
    void dearCommandsTravelInSmallCalls() {
        assertThat(mostInACall(SlidingWindowLog.of(10_000, Duration.ofSeconds(1)), Command.acquire(1)))
                .as("each searches a log of 10 000 entries, and perhaps drops half of it")
                .isLessThan(15);
        assertThat(mostInACall(ConcurrencyLimit.of(5), Command.takeLease("a.1", 1, 1_000, false)))
                .isLessThan(70);
        assertThat(mostInACall(TokenBucket.perSecond(10), Command.peekAtSlots(1)))
                .isLessThan(70);
        assertThat(mostInACall(FixedWindow.of(5, Duration.ofSeconds(1)), Command.acquire(1)))
                .isGreaterThan(200);
    }

    private static int mostInACall(RateLimitPolicy policy, Command command) {
        return ScriptCall.MAX_COST / ScriptPolicy.of(policy).cost(command);
    }
}
