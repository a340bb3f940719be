package io.github.reactorratelimit;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.time.Instant;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.test.scheduler.VirtualTimeScheduler;

/** Refunds where the first debit of a key decides when its permits come back. */
class RefundPhaseTest {

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();

    static Stream<RateLimitPolicy> tenASecondFromTheFirstRequest() {
        FixedWindow window = FixedWindow.of(10, Duration.ofSeconds(1)).fromFirstRequest();
        TokenBucket bucket = TokenBucket.perSecond(10).stepwise();
        return Stream.of(window, bucket, Policies.all(window, TokenBucket.perSecond(1_000)));
    }

    private RateLimiter limiter(RateLimitPolicy policy) {
        return RateLimiter.builder(policy).scheduler(time).build();
    }

    private void at(long millis) {
        time.advanceTimeTo(Instant.ofEpochMilli(millis));
    }

    private static Decision take(RateLimiter limiter, long permits) {
        Decision decision = limiter.tryAcquire("k", permits).block();
        assertThat(decision.allowed()).isTrue();
        return decision;
    }

    private static long remaining(RateLimiter limiter) {
        return limiter.peek("k").block().remaining();
    }

    @ParameterizedTest
    @MethodSource("tenASecondFromTheFirstRequest")
    void refundOfTheFirstDebitGivesNoMoreThanIfItHadNotHappened(RateLimitPolicy policy) {
        RateLimiter limiter = limiter(policy);
        Decision first = take(limiter, 1);
        at(900);
        take(limiter, 9);
        at(950);
        limiter.refund(first).block();
        at(1_000);
        assertThat(remaining(limiter)).isEqualTo(1);
        at(1_899);
        assertThat(remaining(limiter)).isEqualTo(1);
        at(1_950);
        assertThat(remaining(limiter)).isEqualTo(10);
    }

    @ParameterizedTest
    @MethodSource("tenASecondFromTheFirstRequest")
    void refundOfTheOnlyDebitLeavesTheKeyFresh(RateLimitPolicy policy) {
        RateLimiter limiter = limiter(policy);
        Decision first = take(limiter, 4);
        at(500);
        limiter.refund(first).block();
        take(limiter, 10);
        at(1_499);
        assertThat(remaining(limiter)).isZero();
        at(1_500);
        assertThat(remaining(limiter)).isEqualTo(10);
    }

    @ParameterizedTest
    @MethodSource("tenASecondFromTheFirstRequest")
    void refundsOfLaterDebitsDoNotDelayTheRest(RateLimitPolicy policy) {
        RateLimiter limiter = limiter(policy);
        take(limiter, 1);
        for (int millis = 100; millis < 1_000; millis += 100) {
            at(millis);
            Decision later = take(limiter, 2);
            at(millis + 50);
            limiter.refund(later).block();
            assertThat(remaining(limiter)).isEqualTo(9);
        }
        at(1_000);
        assertThat(remaining(limiter)).isEqualTo(10);
    }

    /** All but one are refunded 150 ms after they were taken: those that stay decide when the permits come back. */
    @ParameterizedTest
    @MethodSource("tenASecondFromTheFirstRequest")
    void steadyRefundsDelayTheRestNoLongerThanTheyTake(RateLimitPolicy policy) {
        RateLimiter limiter = limiter(policy);
        Decision before = take(limiter, 1);
        at(100);
        take(limiter, 3);
        for (int millis = 150; millis < 1_150; millis += 100) {
            at(millis);
            limiter.refund(before).block();
            before = take(limiter, 1);
        }
        at(1_150);
        assertThat(remaining(limiter)).isGreaterThanOrEqualTo(9);
    }
}
