package io.github.reactorratelimit;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.test.scheduler.VirtualTimeScheduler;

class SlidingWindowCounterTest {

    private static final Duration WINDOW = Duration.ofSeconds(1);
    private static final int WINDOWS = 200;

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();

    private RateLimiter limiter(long limit) {
        return RateLimiter.builder(SlidingWindowCounter.of(limit, WINDOW))
                .scheduler(time)
                .build();
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 10, 100})
    void callerThatComesBackAtItsRetryAfterGetsTheLimitPerWindow(long limit) {
        RateLimiter limiter = limiter(limit);
        Duration elapsed = Duration.ZERO;
        long allowed = 0;
        while (elapsed.compareTo(WINDOW.multipliedBy(WINDOWS)) < 0) {
            Decision decision = limiter.tryAcquire("k").block();
            if (decision.allowed()) {
                allowed++;
            } else {
                Duration retryAfter = decision.retryAfter().orElseThrow();
                time.advanceTimeBy(retryAfter);
                elapsed = elapsed.plus(retryAfter);
            }
        }
        double perWindow = (double) allowed / WINDOWS;
        System.out.printf("limit %d: %.3f per window%n", limit, perWindow);
        assertThat(perWindow / limit).isBetween(0.995, 1.02);
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 10, 100})
    void retryAfterIsExactToTheNanosecond(long limit) {
        RateLimiter limiter = limiter(limit);
        time.advanceTimeBy(Duration.ofMillis(1_700));
        assertThat(limiter.tryAcquire("k", limit).block().allowed()).isTrue();
        Duration retryAfter = limiter.tryAcquire("k").block().retryAfter().orElseThrow();
        time.advanceTimeBy(retryAfter.minusNanos(1));
        assertThat(limiter.tryAcquire("k").block().retryAfter()).contains(Duration.ofNanos(1));
        time.advanceTimeBy(Duration.ofNanos(1));
        assertThat(limiter.tryAcquire("k").block().allowed()).isTrue();
    }
}
