package io.github.reactorratelimit.waiting;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.AccuracyRecorder;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.ManualScheduler;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import java.time.Duration;
import org.junit.jupiter.api.Test;

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

    @Test
    void everySlotOfALeakyBucketThatPassedIsCounted() {
        wait(limiter(LeakyBucket.perSecond(10)), 4);
        pass(300 * MILLI);
        assertThat(accuracy.snapshot().toldInTurn()).isEqualTo(3);
        assertThat(accuracy.snapshot().totalLateness()).isEqualTo(Duration.ofMillis(200 + 100));
        assertThat(accuracy.snapshot().maxLateness()).isEqualTo(Duration.ofMillis(200));
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
}
