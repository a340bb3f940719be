package io.github.reactorratelimit.fairness;

import static java.time.Duration.ofMillis;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimitRecorder;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import reactor.test.scheduler.VirtualTimeScheduler;

/** How many requests of the queue are in flight at the limiter. */
class LimiterRequestsTest {

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final AtomicInteger atTheLimiter = new AtomicInteger();
    private final AtomicInteger denied = new AtomicInteger();

    private FairShare share(RateLimitPolicy policy) {
        RateLimiter limiter = RateLimiter.builder(policy)
                .scheduler(time)
                .recorder(new RateLimitRecorder() {
                    @Override
                    public void queueChanged(int change) {
                        atTheLimiter.addAndGet(change);
                    }

                    @Override
                    public void decided(boolean allowed, long permits) {
                        denied.addAndGet(allowed ? 0 : 1);
                    }
                })
                .build();
        return FairShare.over(limiter, "k").scheduler(time).build();
    }

    private static void call(FairShare share, long permits, int count) {
        for (int i = 0; i < count; i++) {
            share.acquire("a", FairShareBuilder.DEFAULT_CLASS, permits, Duration.ofDays(1))
                    .subscribe();
        }
    }

    @Test
    void slowLimitHasTwoInFlight() {
        FairShare share = share(LeakyBucket.of(1, Duration.ofSeconds(1)));
        call(share, 1, 500);
        assertThat(atTheLimiter).hasValue(2);
        time.advanceTimeBy(Duration.ofSeconds(100));
        assertThat(atTheLimiter).hasValue(2);
    }

    @Test
    void fastLimitHasInFlightWhatComesInTwentyMilliseconds() {
        FairShare share = share(LeakyBucket.of(1, ofMillis(1)));
        call(share, 1, 900);
        time.advanceTimeBy(ofMillis(500));
        assertThat(atTheLimiter).hasValue(21);
    }

    @Test
    void burstDoesNotWidenTheWindow() {
        FairShare share = share(TokenBucket.of(1, Duration.ofSeconds(1)).withBurst(500));
        call(share, 1, 900);
        assertThat(share.queued()).isEqualTo(400);
        assertThat(atTheLimiter).hasValue(2);
    }

    @Test
    void differentCostsHaveOneInFlight() {
        FairShare share = share(LeakyBucket.of(1, ofMillis(1)));
        call(share, 1, 500);
        time.advanceTimeBy(ofMillis(400));
        call(share, 2, 1);
        assertThat(atTheLimiter).hasValue(1);
        time.advanceTimeBy(ofMillis(500));
        assertThat(share.queued()).isZero();
        assertThat(atTheLimiter).hasValue(0);
    }

    @Test
    void queueOfALeakyBucketIsNotAskedForMoreThanItHolds() {
        FairShare share = share(LeakyBucket.of(1, ofMillis(1)).withQueue(4));
        call(share, 2, 500);
        time.advanceTimeBy(ofMillis(500));
        assertThat(atTheLimiter).hasValue(2);
        assertThat(denied).hasValue(0);
    }
}
