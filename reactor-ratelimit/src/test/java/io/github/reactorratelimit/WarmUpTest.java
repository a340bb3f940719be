package io.github.reactorratelimit;

import static java.time.Duration.ZERO;
import static java.time.Duration.ofHours;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofNanos;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.replay.Arrival;
import io.github.reactorratelimit.replay.Replay;
import io.github.reactorratelimit.replay.ReplayEvent;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.scheduler.VirtualTimeScheduler;

class WarmUpTest {

    /** Each second of the first sixteen adds 100 per second. */
    private static final WarmUp POLICY = WarmUp.perSecond(1_600, ofSeconds(16));

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();

    private RateLimiter limiter(RateLimitPolicy policy) {
        return RateLimiter.builder(policy).scheduler(time).build();
    }

    private static <T> T now(Mono<T> answer) {
        return answer.toFuture().join();
    }

    private static Duration retryAfter(RateLimiter limiter) {
        return now(limiter.tryAcquire("k")).retryAfter().orElseThrow();
    }

    /** Keeps the key busy for this long. */
    private void drive(RateLimiter limiter, Duration busy) {
        for (Duration passed = ZERO; passed.compareTo(busy) < 0; ) {
            assertThat(now(limiter.tryAcquire("k")).allowed()).isTrue();
            Duration wait = retryAfter(limiter);
            time.advanceTimeBy(wait);
            passed = passed.plus(wait);
        }
    }

    private static Stream<Duration> departures(RateLimitPolicy policy, int requests) {
        List<Arrival> arrivals = IntStream.range(0, requests)
                .mapToObj(i -> Arrival.at(ZERO, "k"))
                .toList();
        return Replay.of(policy).delaying().run(arrivals).events().stream()
                .map(ReplayEvent::departure)
                .map(departure -> departure.orElseThrow());
    }

    @Test
    void rateClimbsToFullInSixteenEqualSteps() {
        List<Long> perSecond = departures(POLICY, 20_000)
                .collect(Collectors.groupingBy(Duration::toSeconds, Collectors.counting()))
                .values()
                .stream()
                .toList();
        for (int step = 1; step <= 16; step++) {
            assertThat(perSecond.get(step - 1)).as("step %d", step).isEqualTo(100L * step);
        }
        assertThat(perSecond.subList(16, 19)).containsOnly(1_600L);
        assertThat(perSecond.subList(0, 16).stream().mapToLong(each -> each).sum())
                .isEqualTo(1_600 * 16 * 17 / 32);
    }

    @Test
    void retryAfterIsExactColdAndWarm() {
        RateLimiter limiter = limiter(WarmUp.of(7, ofSeconds(3), ofSeconds(20)));
        for (int i = 0; i < 50; i++) {
            assertThat(now(limiter.tryAcquire("k", 1 + i % 3)).allowed()).isTrue();
            time.advanceTimeBy(retryAfter(limiter).minusNanos(1));
            assertThat(retryAfter(limiter)).isEqualTo(ofNanos(1));
            time.advanceTimeBy(ofNanos(1));
        }
        assertThat(now(limiter.tryAcquire("k")).allowed()).isTrue();
        assertThat(retryAfter(limiter))
                .isBetween(ofSeconds(3).dividedBy(7), ofSeconds(3).dividedBy(7).plusNanos(1));
    }

    @Test
    void noBurstIsStoredByAColdOrAWarmKey() {
        RateLimiter limiter = limiter(POLICY);
        time.advanceTimeBy(ofHours(1));
        assertThat(now(limiter.tryAcquire("k")).allowed()).isTrue();
        assertThat(retryAfter(limiter)).isEqualTo(ofMillis(10));
        time.advanceTimeBy(ofMillis(10));
        drive(limiter, ofSeconds(16));
        time.advanceTimeBy(ofMillis(500));
        assertThat(now(limiter.tryAcquire("k")).allowed()).isTrue();
        assertThat(now(limiter.tryAcquire("k")).allowed()).isFalse();
    }

    @Test
    void keyCoolsDownAsFastAsItWarmsUp() {
        RateLimiter limiter = limiter(POLICY);
        drive(limiter, ofSeconds(16));
        now(limiter.tryAcquire("k"));
        assertThat(retryAfter(limiter)).as("warm").isEqualTo(ofNanos(625_000));
        time.advanceTimeBy(ofNanos(625_000).plus(ofMillis(7_999)));
        now(limiter.tryAcquire("k"));
        assertThat(retryAfter(limiter))
                .as("after half the time")
                .isEqualTo(ofSeconds(1).dividedBy(900));
        time.advanceTimeBy(ofSeconds(17));
        now(limiter.tryAcquire("k"));
        assertThat(retryAfter(limiter)).as("cold").isEqualTo(ofMillis(10));
    }

    @Test
    void resetMakesAKeyCold() {
        RateLimiter limiter = limiter(POLICY);
        drive(limiter, ofSeconds(4));
        now(limiter.tryAcquire("k"));
        assertThat(retryAfter(limiter)).isLessThan(ofMillis(3));
        now(limiter.reset("k"));
        now(limiter.tryAcquire("k"));
        assertThat(retryAfter(limiter)).isEqualTo(ofMillis(10));
    }

    @Test
    void waitersLeaveWhenAReplaySaysSo() {
        RateLimiter limiter = limiter(POLICY);
        List<Duration> left = new ArrayList<>();
        Flux.range(0, 500)
                .flatMap(i -> limiter.acquire("k"), 500)
                .subscribe(decision -> left.add(ofMillis(time.now(TimeUnit.MILLISECONDS))));
        time.advanceTimeBy(ofSeconds(10));
        assertThat(left)
                .isEqualTo(departures(POLICY, 500)
                        .map(departure -> ofMillis(departure.toMillis()))
                        .toList());
    }

    @Test
    void refundAtOnceLeavesTheKeyAsItWas() {
        RateLimiter limiter = limiter(POLICY);
        drive(limiter, ofSeconds(2));
        Decision before = now(limiter.peek("k"));
        Decision taken = now(limiter.tryAcquire("k", 1_000));
        assertThat(retryAfter(limiter)).isGreaterThan(ofSeconds(1));
        now(limiter.refund(taken));
        assertThat(now(limiter.peek("k"))).usingRecursiveComparison().isEqualTo(before);
    }

    @Test
    void partOfACompositeBindsAndIsNamed() {
        RateLimiter limiter = limiter(Policies.all(POLICY, TokenBucket.perSecond(50)));
        assertThat(now(limiter.tryAcquire("k")).allowed()).isTrue();
        Decision denied = now(limiter.tryAcquire("k"));
        assertThat(denied.policy()).isEqualTo(POLICY);
        assertThat(denied.retryAfter()).contains(ofMillis(10));
    }

    @Test
    void changeOfThePolicyKeepsWhatIsOwedAndStartsCold() {
        RateLimiter limiter = limiter(TokenBucket.of(10, ofHours(1)));
        now(limiter.tryAcquire("k", 5));
        now(limiter.changePolicy(POLICY));
        assertThat(retryAfter(limiter)).isEqualTo(ofMillis(50));
        time.advanceTimeBy(ofMillis(50));
        drive(limiter, ofSeconds(16));
        now(limiter.changePolicy(WarmUp.perSecond(3_200, ofSeconds(16))));
        now(limiter.tryAcquire("k"));
        assertThat(retryAfter(limiter)).isEqualTo(ofMillis(5));
        now(limiter.tryAcquire("k"));
        now(limiter.changePolicy(TokenBucket.of(10, ofHours(1))));
        assertThat(now(limiter.peek("k")).remaining()).isEqualTo(9);
    }
}
