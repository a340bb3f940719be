package io.github.reactorratelimit.queue;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.DirectLimiter;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.ManualScheduler;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.test.StepVerifier;
import reactor.test.scheduler.VirtualTimeScheduler;

class LocalQueueTest {

    private static final String KEY = "k";
    private static final long MILLI = 1_000_000;
    private static final Duration PATIENCE = ofSeconds(60);

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();

    private RateLimiter limiter(RateLimitPolicy policy) {
        return RateLimiter.builder(policy).scheduler(time).build();
    }

    private long nowMillis() {
        return time.now(TimeUnit.NANOSECONDS) / MILLI;
    }

    /** Records when the permits were granted. */
    private Disposable departure(RateLimiter limiter, long permits, List<Long> departures) {
        return limiter.acquire(KEY, permits)
                .filter(Decision::allowed)
                .subscribe(decision -> departures.add(nowMillis()));
    }

    @Test
    void queueDrainsAtTheRate() {
        RateLimiter limiter = limiter(LeakyBucket.of(1, ofMillis(10)));
        List<Long> departures = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            departure(limiter, 1, departures);
        }
        time.advanceTimeBy(ofMillis(100));
        assertThat(departures).containsExactly(0L, 10L, 20L, 30L, 40L);
    }

    @Test
    void weightedRequestKeepsTheNextOneAwayForAsManyIntervals() {
        RateLimiter limiter = limiter(LeakyBucket.of(1, ofMillis(10)));
        List<Long> departures = new ArrayList<>();
        departure(limiter, 3, departures);
        departure(limiter, 2, departures);
        departure(limiter, 1, departures);
        time.advanceTimeBy(ofMillis(100));
        assertThat(departures).containsExactly(0L, 30L, 50L);
    }

    @Test
    void halfOfTenThousandCancelledLetsTheRestLeaveInHalfTheTime() {
        int waiters = 10_000;
        RateLimiter limiter = limiter(LeakyBucket.of(1, ofMillis(1)).withQueue(waiters));
        List<Long> departures = new ArrayList<>();
        List<Disposable> waits = new ArrayList<>();
        for (int i = 0; i < waiters; i++) {
            waits.add(departure(limiter, 1, departures));
        }
        for (int i = 0; i < waiters; i += 2) {
            waits.get(i).dispose();
        }
        time.advanceTimeBy(ofMillis(waiters / 2));
        // The first was served at once, before it could be cancelled.
        assertThat(departures).hasSize(waiters / 2 + 1);
        assertThat(departures.get(waiters / 2)).isEqualTo(waiters / 2);
    }

    @Test
    void fullQueueDeniesAtOnce() {
        RateLimiter limiter = limiter(LeakyBucket.of(1, ofMillis(10)).withQueue(2));
        List<Long> departures = new ArrayList<>();
        departure(limiter, 1, departures);
        departure(limiter, 1, departures);
        departure(limiter, 1, departures);
        StepVerifier.create(limiter.acquire(KEY))
                .assertNext(decision -> {
                    assertThat(decision.allowed()).isFalse();
                    assertThat(decision.retryAfter()).contains(ofMillis(30));
                })
                .verifyComplete();
        time.advanceTimeBy(ofMillis(100));
        assertThat(departures).containsExactly(0L, 10L, 20L);
    }

    @Test
    void lineOfAnyPolicyIsBounded() {
        RateLimiter limiter = RateLimiter.builder(TokenBucket.of(1, ofMillis(10)))
                .scheduler(time)
                .maxWaiters(1)
                .build();
        List<Long> departures = new ArrayList<>();
        departure(limiter, 1, departures);
        departure(limiter, 1, departures);
        StepVerifier.create(limiter.acquire(KEY))
                .assertNext(decision -> assertThat(decision.allowed()).isFalse())
                .verifyComplete();
        time.advanceTimeBy(ofMillis(10));
        assertThat(departures).containsExactly(0L, 10L);
    }

    @Test
    void waitIsDeniedExactlyWhenItWouldExceedItsLimit() {
        RateLimiter limiter = limiter(TokenBucket.of(1, ofMillis(10)));
        List<Long> departures = new ArrayList<>();
        departure(limiter, 1, departures);
        departure(limiter, 1, departures);
        List<Boolean> answers = new ArrayList<>();
        limiter.acquire(KEY, 1, ofMillis(20).minusNanos(1)).subscribe(decision -> answers.add(decision.allowed()));
        assertThat(answers).containsExactly(false);
        limiter.acquire(KEY, 1, ofMillis(20)).subscribe(decision -> answers.add(decision.allowed()));
        time.advanceTimeBy(ofMillis(20));
        assertThat(answers).containsExactly(false, true);
    }

    @Test
    void patienceIsCountedBehindWaitersWithoutADeadlineToo() {
        RateLimiter limiter = limiter(TokenBucket.of(1, ofMillis(10)));
        List<Long> departures = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            departure(limiter, 1, departures);
        }
        Decision denied = limiter.acquire(KEY, 1, ofMillis(39)).block(PATIENCE);
        assertThat(denied.allowed()).isFalse();
        assertThat(denied.retryAfter()).contains(ofMillis(40));
    }

    @Test
    void pauseMovesThoseWhoWait() {
        RateLimiter limiter = limiter(LeakyBucket.of(1, ofMillis(10)));
        List<Long> departures = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            departure(limiter, 1, departures);
        }
        time.advanceTimeBy(ofMillis(15));
        limiter.pause(KEY, ofMillis(100)).subscribe();
        time.advanceTimeBy(ofMillis(1_000));
        assertThat(departures).containsExactly(0L, 10L, 115L, 125L);
    }

    @Test
    void resetServesThoseWhoWait() {
        RateLimiter limiter = limiter(TokenBucket.of(2, ofSeconds(2)));
        List<Long> departures = new ArrayList<>();
        departure(limiter, 2, departures);
        departure(limiter, 1, departures);
        departure(limiter, 2, departures);
        time.advanceTimeBy(ofMillis(5));
        limiter.reset(KEY).subscribe();
        time.advanceTimeBy(ofSeconds(10));
        assertThat(departures).containsExactly(0L, 5L, 1005L);
    }

    @Test
    void refundServesTheHeadEarlier() {
        RateLimiter limiter = limiter(TokenBucket.of(1, ofMillis(100)));
        Decision first = limiter.tryAcquire(KEY).block(PATIENCE);
        List<Long> departures = new ArrayList<>();
        departure(limiter, 1, departures);
        time.advanceTimeBy(ofMillis(40));
        limiter.refund(first).subscribe();
        time.advanceTimeBy(ofMillis(1));
        assertThat(departures).containsExactly(40L);
    }

    @Test
    void lateTimerDoesNotMoveTheSlotsThatFollow() {
        ManualScheduler late = new ManualScheduler(-7);
        RateLimiter limiter = RateLimiter.builder(LeakyBucket.of(1, ofMillis(10)))
                .scheduler(late)
                .build();
        AtomicInteger served = new AtomicInteger();
        for (int i = 0; i < 3; i++) {
            limiter.acquire(KEY).subscribe(decision -> served.incrementAndGet());
        }
        assertThat(served).hasValue(1);
        assertThat(late.nextIn()).isEqualTo(10 * MILLI);
        late.advance(14 * MILLI);
        late.runDue();
        assertThat(served).hasValue(2);
        assertThat(late.nextIn()).isEqualTo(6 * MILLI);
    }

    @Test
    void strictSpacingCountsFromTheActualEmission() {
        ManualScheduler late = new ManualScheduler(Long.MAX_VALUE - 1_000 * MILLI);
        RateLimiter limiter = RateLimiter.builder(
                        LeakyBucket.of(1, ofMillis(10)).strictSpacing())
                .scheduler(late)
                .build();
        AtomicInteger served = new AtomicInteger();
        for (int i = 0; i < 3; i++) {
            limiter.acquire(KEY).subscribe(decision -> served.incrementAndGet());
        }
        late.advance(14 * MILLI);
        late.runDue();
        assertThat(served).hasValue(2);
        assertThat(late.nextIn()).isEqualTo(10 * MILLI);
    }

    @Test
    void noTimerIsLeftWhenNobodyWaits() {
        ManualScheduler manual = new ManualScheduler(0);
        RateLimiter limiter = RateLimiter.builder(LeakyBucket.of(1, ofMillis(10)))
                .scheduler(manual)
                .build();
        limiter.acquire(KEY).subscribe();
        List<Disposable> waits = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            waits.add(limiter.acquire("key " + i % 10).subscribe());
        }
        assertThat(manual.pending()).as("one task for each key").isEqualTo(10);
        waits.forEach(Disposable::dispose);
        assertThat(manual.pending()).isZero();
    }

    @Test
    void whoWasServedDoesNotStandInItsOwnWay() {
        RateLimiter limiter = limiter(TokenBucket.perHour(5));
        assertThat(DirectLimiter.of(limiter).tryAcquireNow(KEY, 5)).isTrue();
        List<Boolean> again = new ArrayList<>();
        limiter.acquire(KEY)
                .subscribe(decision -> again.add(DirectLimiter.of(limiter).tryAcquireNow(KEY, 1)));
        limiter.reset(KEY).subscribe();
        assertThat(again).containsExactly(true);
    }

    @Test
    void requestsOfManyPermitsAreServedFromAShortQueue() {
        RateLimiter limiter = limiter(LeakyBucket.of(10, ofSeconds(1)).withQueue(5));
        List<Long> departures = new ArrayList<>();
        departure(limiter, 5, departures);
        departure(limiter, 4, departures);
        departure(limiter, 1, departures);
        time.advanceTimeBy(ofSeconds(2));
        assertThat(departures).containsExactly(0L, 500L, 900L);
    }

    @Test
    void refundBringsTheTurnsOfNewcomersForwardToo() {
        RateLimiter limiter = limiter(TokenBucket.perSecond(1).withBurst(10));
        Decision three = limiter.tryAcquire(KEY, 3).block(PATIENCE);
        limiter.tryAcquire(KEY, 7).block(PATIENCE);
        for (int i = 0; i < 5; i++) {
            limiter.acquire(KEY, 1, ofSeconds(100)).subscribe();
        }
        limiter.refund(three).subscribe();
        assertThat(limiter.peek(KEY).block(PATIENCE).retryAfter()).contains(ofSeconds(3));
        List<Boolean> answers = new ArrayList<>();
        limiter.acquire(KEY, 1, ofSeconds(3)).subscribe(decision -> answers.add(decision.allowed()));
        time.advanceTimeBy(ofSeconds(3));
        assertThat(answers).containsExactly(true);
    }

    @Test
    void requestThatNobodyDemandsTakesNothing() {
        RateLimiter limiter = limiter(TokenBucket.perHour(1));
        StepVerifier.create(limiter.acquire(KEY), 0)
                .expectSubscription()
                .thenCancel()
                .verify(PATIENCE);
        assertThat(DirectLimiter.of(limiter).tryAcquireNow(KEY, 1)).isTrue();
    }

    @Test
    void acquireInsideAGrantDoesNotDeadlockOrGrowTheStack() {
        RateLimiter limiter = limiter(TokenBucket.perSecond(1_000_000));
        Long served = Flux.range(0, 1_000_000)
                .concatMap(i -> limiter.acquire(KEY))
                .doOnSubscribe(s -> time.advanceTimeBy(ofSeconds(0)))
                .count()
                .block(PATIENCE);
        assertThat(served).isEqualTo(1_000_000);
    }

    @Test
    void recursiveAcquiresDoNotGrowTheStack() {
        RateLimiter limiter = limiter(TokenBucket.of(1, ofMillis(1)));
        AtomicInteger served = new AtomicInteger();
        acquireAgain(limiter, served, 20_000);
        time.advanceTimeBy(ofSeconds(30));
        assertThat(served).hasValue(20_000);
    }

    private void acquireAgain(RateLimiter limiter, AtomicInteger served, int times) {
        limiter.acquire(KEY).subscribe(decision -> {
            if (served.incrementAndGet() < times) {
                acquireAgain(limiter, served, times);
            }
        });
    }
}
