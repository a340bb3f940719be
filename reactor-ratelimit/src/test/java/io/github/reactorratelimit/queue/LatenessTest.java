package io.github.reactorratelimit.queue;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.AccuracyRecorder;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.ManualScheduler;
import io.github.reactorratelimit.Policies;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.WarmUp;
import java.time.Duration;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** How late those who waited are told, by a timer that is as late as the test wants. */
class LatenessTest {

    private static final long MILLI = 1_000_000;

    private final ManualScheduler time = new ManualScheduler(-5);
    private final AccuracyRecorder accuracy = new AccuracyRecorder();

    private RateLimiter limiter(RateLimitPolicy policy) {
        return RateLimiter.builder(policy).scheduler(time).recorder(accuracy).build();
    }

    private void wait(RateLimiter limiter, int times) {
        for (int i = 0; i < times; i++) {
            limiter.acquire("k").subscribe();
        }
    }

    private void pass(long nanos) {
        time.advance(nanos);
        time.runDue();
    }

    @Test
    void whoIsToldInTimeIsNotLate() {
        wait(limiter(TokenBucket.perSecond(10).withBurst(1)), 3);
        for (int i = 0; i < 2; i++) {
            pass(100 * MILLI);
        }
        assertThat(accuracy.snapshot().toldInTurn()).isEqualTo(2);
        assertThat(accuracy.snapshot().maxLateness()).isZero();
    }

    @Test
    void lateTimerIsToldToTheNanosecond() {
        wait(limiter(TokenBucket.perSecond(10).withBurst(1)), 2);
        pass(100 * MILLI + 7);
        assertThat(accuracy.snapshot().toldInTurn()).isOne();
        assertThat(accuracy.snapshot().maxLateness()).isEqualTo(Duration.ofNanos(7));
        assertThat(accuracy.snapshot().totalLateness()).isEqualTo(Duration.ofNanos(7));
    }

    @ParameterizedTest
    @MethodSource("buckets")
    void everySlotThatPassedIsCounted(RateLimitPolicy bucket) {
        wait(limiter(bucket), 4);
        pass(30 * MILLI);
        assertThat(accuracy.snapshot().toldInTurn()).isEqualTo(3);
        assertThat(accuracy.snapshot().totalLateness()).isEqualTo(Duration.ofMillis(20 + 10));
        assertThat(accuracy.snapshot().maxLateness()).isEqualTo(Duration.ofMillis(20));
    }

    @ParameterizedTest
    @MethodSource("buckets")
    void latenessBeyondWhatIsMadeUpIsToldInFull(RateLimitPolicy bucket) {
        wait(limiter(bucket), 2);
        pass(300 * MILLI);
        assertThat(accuracy.snapshot().toldInTurn()).isOne();
        assertThat(accuracy.snapshot().maxLateness()).isEqualTo(Duration.ofMillis(290));
    }

    /** All let one pass each 10 ms; the warm-up while it is cold. */
    static Stream<RateLimitPolicy> buckets() {
        return Stream.of(
                LeakyBucket.perSecond(100),
                WarmUp.perSecond(1_600, Duration.ofHours(1)),
                TokenBucket.perSecond(100).withBurst(1),
                Policies.all(LeakyBucket.perSecond(100), TokenBucket.perSecond(1_000)));
    }

    @Test
    void strictBucketInACompositeIsSpacedFromItsEmissions() {
        wait(limiter(Policies.all(LeakyBucket.perSecond(100).strictSpacing(), LeakyBucket.perSecond(1_000))), 4);
        pass(30 * MILLI);
        assertThat(accuracy.snapshot().toldInTurn()).isOne();
    }

    @Test
    void turnThatWasPutOffIsNotLate() {
        RateLimiter limiter = limiter(TokenBucket.perSecond(10).withBurst(1));
        wait(limiter, 2);
        limiter.pause("k", Duration.ofMillis(500)).subscribe();
        pass(100 * MILLI);
        pass(400 * MILLI);
        assertThat(accuracy.snapshot().toldInTurn()).isOne();
        assertThat(accuracy.snapshot().maxLateness()).isZero();
    }

    @Test
    void whoIsAnsweredAtOnceOrLeavesIsNotCounted() {
        RateLimiter limiter = limiter(TokenBucket.perSecond(10).withBurst(1));
        wait(limiter, 1);
        limiter.acquire("k").subscribe().dispose();
        pass(1_000 * MILLI);
        assertThat(accuracy.snapshot().toldInTurn()).isZero();
    }

    @Test
    void grantThatARefundMadePossibleIsNotLate() {
        RateLimiter limiter = limiter(TokenBucket.perSecond(100).withBurst(3));
        Decision used = limiter.tryAcquire("k", 3).block();
        time.advance(1 * MILLI);
        wait(limiter, 1);
        time.advance(4 * MILLI);
        limiter.refund(used).block();
        time.runDue();
        assertThat(accuracy.snapshot().toldInTurn()).isOne();
        assertThat(accuracy.snapshot().maxLateness()).isZero();
    }

    @Test
    void timerThatIsLateForAScheduledGrantIsLateDespiteALaterRefund() {
        RateLimiter limiter = limiter(TokenBucket.perSecond(100).withBurst(1));
        Decision used = limiter.acquire("k").block();
        wait(limiter, 1);
        time.advance(13 * MILLI);
        limiter.refund(used).block();
        time.runDue();
        assertThat(accuracy.snapshot().toldInTurn()).isOne();
        assertThat(accuracy.snapshot().maxLateness()).isEqualTo(Duration.ofMillis(3));
    }
}
