package io.github.reactorratelimit.queue;

import static java.time.Duration.ofHours;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.DirectLimiter;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.Lease;
import io.github.reactorratelimit.ManualScheduler;
import io.github.reactorratelimit.RateLimitRecorder;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterClosedException;
import io.github.reactorratelimit.TokenBucket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;
import reactor.test.StepVerifier;
import reactor.test.scheduler.VirtualTimeScheduler;

/** What others do wrong, or do at the wrong time, delays or fails nobody who does not deserve it. */
class LocalQueueFaultTest {

    private static final String KEY = "k";
    private static final Duration PATIENCE = ofSeconds(60);

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();

    @Test
    void slowSubscriberDelaysOnlyItself() throws InterruptedException {
        RateLimiter limiter = RateLimiter.of(LeakyBucket.perSecond(1_000));
        limiter.pause(KEY, ofHours(1)).block(PATIENCE);
        assertThatSlowOneDelaysNobody(
                limiter, 50, () -> limiter.pause(KEY, Duration.ZERO).block(PATIENCE));
        limiter.close().block(PATIENCE);
    }

    @Test
    void slowSubscriberDelaysNobodyWhoIsGrantedAtTheSameMoment() throws InterruptedException {
        Scheduler twoThreads = Schedulers.newBoundedElastic(2, 10_000, "two-threads");
        RateLimiter limiter = RateLimiter.builder(TokenBucket.perHour(500))
                .scheduler(twoThreads)
                .build();
        limiter.acquire(KEY, 500).block(PATIENCE);
        assertThatSlowOneDelaysNobody(limiter, 400, () -> limiter.reset(KEY).block(PATIENCE));
        limiter.close().block(PATIENCE);
        twoThreads.dispose();
    }

    /** The slow one returns when all others were served, or gives up. */
    private static void assertThatSlowOneDelaysNobody(RateLimiter limiter, int others, Runnable grant)
            throws InterruptedException {
        CountDownLatch othersServed = new CountDownLatch(others);
        AtomicBoolean stalled = new AtomicBoolean();
        CountDownLatch slowServed = new CountDownLatch(1);
        limiter.acquire(KEY).subscribe(decision -> {
            try {
                stalled.set(!othersServed.await(PATIENCE.toSeconds(), TimeUnit.SECONDS));
            } catch (InterruptedException e) {
                stalled.set(true);
            }
            slowServed.countDown();
        });
        for (int i = 0; i < others; i++) {
            limiter.acquire(KEY).subscribe(decision -> othersServed.countDown());
        }
        grant.run();
        assertThat(slowServed.await(2 * PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        assertThat(stalled).as("the others were served while the slow one ran").isFalse();
    }

    @Test
    void grantIsNotSignalledOnTheThreadThatReleases() throws InterruptedException {
        RateLimiter limiter = RateLimiter.of(ConcurrencyLimit.of(1));
        Lease held = limiter.acquireLease(KEY, 1, PATIENCE).block(PATIENCE);
        CountDownLatch served = new CountDownLatch(1);
        List<Thread> on = new ArrayList<>();
        limiter.acquireLease(KEY, 1, PATIENCE).subscribe(lease -> {
            on.add(Thread.currentThread());
            served.countDown();
        });
        held.release().block(PATIENCE);
        assertThat(served.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        assertThat(on).doesNotContain(Thread.currentThread());
    }

    @Test
    void disposedSchedulerFailsThoseWhoWait() {
        Scheduler mine = Schedulers.newSingle("disposed-under-way");
        RateLimiter limiter =
                RateLimiter.builder(TokenBucket.perHour(1)).scheduler(mine).build();
        limiter.acquire(KEY).block(PATIENCE);
        Mono<Decision> waiting = limiter.acquire(KEY).cache();
        waiting.subscribe(decision -> {}, error -> {});
        mine.dispose();
        StepVerifier.create(waiting)
                .expectError(RateLimiterClosedException.class)
                .verify(PATIENCE);
        StepVerifier.create(limiter.acquire(KEY))
                .expectError(RateLimiterClosedException.class)
                .verify(PATIENCE);
    }

    @Test
    void waitEndsAtOnceWhenTheSchedulerIsAlreadyDisposed() {
        ManualScheduler gone = new ManualScheduler(0);
        RateLimiter limiter =
                RateLimiter.builder(TokenBucket.perHour(1)).scheduler(gone).build();
        limiter.acquire(KEY).block(PATIENCE);
        gone.dispose();
        StepVerifier.create(limiter.acquire(KEY))
                .expectError(RateLimiterClosedException.class)
                .verify(PATIENCE);
    }

    @Test
    void grantThatADisposedSchedulerDroppedIsStillDelivered() throws InterruptedException {
        Scheduler mine = Schedulers.newBoundedElastic(1, 10_000, "disposed-with-a-grant");
        CountDownLatch busy = new CountDownLatch(1);
        CountDownLatch free = new CountDownLatch(1);
        RateLimiter limiter =
                RateLimiter.builder(ConcurrencyLimit.of(1)).scheduler(mine).build();
        Lease held = limiter.acquireLease(KEY, 1, PATIENCE).block(PATIENCE);
        Mono<Lease> waiting =
                limiter.acquireLease(KEY, 1, Duration.ofNanos(Long.MAX_VALUE)).cache();
        waiting.subscribe();
        mine.schedule(() -> {
            busy.countDown();
            try {
                free.await();
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
            }
        });
        assertThat(busy.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        held.release().block(PATIENCE);
        mine.dispose();
        waiting.block(PATIENCE);
        limiter.close().block(PATIENCE);
        free.countDown();
    }

    @Test
    void failingRecorderHarmsNobody() {
        RateLimitRecorder failing = new RateLimitRecorder() {
            @Override
            public void waited(WaitOutcome outcome, long waitedNanos) {
                throw new IllegalStateException("meter");
            }
        };
        RateLimiter limiter = RateLimiter.builder(LeakyBucket.of(1, ofMillis(10)))
                .scheduler(time)
                .recorder(failing)
                .build();
        AtomicInteger served = new AtomicInteger();
        for (int i = 0; i < 4; i++) {
            limiter.acquire(KEY).subscribe(decision -> served.incrementAndGet());
        }
        time.advanceTimeBy(ofMillis(30));
        assertThat(served).hasValue(4);
    }

    @Test
    void schedulerThatCannotDelayFailsTheWaitAndSaysSo() {
        RateLimiter limiter = RateLimiter.builder(TokenBucket.perHour(1))
                .scheduler(Schedulers.immediate())
                .build();
        limiter.acquire(KEY).block(PATIENCE);
        StepVerifier.create(limiter.acquire(KEY))
                .expectErrorSatisfies(error -> assertThat(error)
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("scheduler must be able to delay tasks"))
                .verify(PATIENCE);
        assertThat(DirectLimiter.of(limiter).tryAcquireNow("other", 1))
                .as("the limiter is not closed")
                .isTrue();
    }

    @Test
    void closeTellsTenThousandWaitersBeforeItCompletes() {
        int keys = 5;
        int waiters = 10_000;
        RateLimiter limiter =
                RateLimiter.of(LeakyBucket.of(1, Duration.ofHours(1)).withQueue(8_000));
        for (int key = 0; key < keys; key++) {
            assertThat(DirectLimiter.of(limiter).tryAcquireNow("key " + key, 1)).isTrue();
        }
        AtomicInteger told = new AtomicInteger();
        for (int i = 0; i < waiters; i++) {
            limiter.acquire("key " + i % keys).subscribe(decision -> {}, error -> {
                assertThat(error).isInstanceOf(RateLimiterClosedException.class);
                told.incrementAndGet();
            });
        }
        assertThat(limiter.isDisposed()).isFalse();
        limiter.close().block(PATIENCE);
        assertThat(told).hasValue(waiters);
        assertThat(limiter.isDisposed()).isTrue();
    }
}
