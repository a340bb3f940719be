package io.github.reactorratelimit.local;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;

/** A limiter whose key several threads ask for at once, while its clock stands still: every answer is exact. */
class HotKeyLimiterTest {

    private static final String KEY = "hot";
    private static final long CAPACITY = 2_000_000;
    private static final int THREADS = 4;

    private final StandingClock clock = new StandingClock();
    private LocalState state;
    private final RateLimiter limiter = RateLimiter.builder(TokenBucket.perSecond(CAPACITY))
            .scheduler(clock)
            .store(settings -> state = new LocalState(settings, 10))
            .build();
    private final AtomicLong taken = new AtomicLong();

    @AfterEach
    void close() {
        limiter.dispose();
    }

    private void askFromAllThreads(int timesEach) throws InterruptedException {
        Thread[] threads = new Thread[THREADS];
        for (int i = 0; i < THREADS; i++) {
            threads[i] = new Thread(() -> {
                int mine = 0;
                while (mine < timesEach && limiter.tryAcquireNow(KEY, 1)) {
                    mine++;
                }
                taken.addAndGet(mine);
            });
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    /** As collisions would, and so that all threads have taken from it. */
    private void makeHot() throws InterruptedException {
        StripedTable table = (StripedTable) state.table(limiter.policy());
        table.open(KEY);
        askFromAllThreads(200);
        assertThat(table.isHot(KEY)).isTrue();
    }

    private static <T> T get(Mono<T> answer) {
        return Objects.requireNonNull(answer.block());
    }

    private long remaining() {
        return get(limiter.peek(KEY)).remaining();
    }

    @Test
    void exactlyTheCapacityIsGivenOutWithFewReadingsOfTheClock() throws InterruptedException {
        makeHot();
        askFromAllThreads(Integer.MAX_VALUE);
        while (limiter.tryAcquireNow(KEY, 1)) {
            taken.incrementAndGet();
        }
        assertThat(taken).hasValue(CAPACITY);
        assertThat(clock.readings.sum()).isLessThan(CAPACITY / 2);
    }

    @Test
    void peekAndDecisionTellWhatIsLeft() throws InterruptedException {
        makeHot();
        assertThat(remaining()).isEqualTo(CAPACITY - taken.get());
        makeHot();
        Decision decision = get(limiter.tryAcquire(KEY, 5));
        assertThat(decision.remaining()).isEqualTo(CAPACITY - taken.get() - 5);
        makeHot();
        limiter.refund(decision).block();
        assertThat(remaining()).isEqualTo(CAPACITY - taken.get());
    }

    @Test
    void acquireTakesFromAHotKey() throws InterruptedException {
        makeHot();
        assertThat(get(limiter.acquire(KEY, 7)).remaining()).isEqualTo(CAPACITY - taken.get() - 7);
    }

    @Test
    void resetGivesTheWholeCapacity() throws InterruptedException {
        makeHot();
        limiter.reset(KEY).block();
        assertThat(remaining()).isEqualTo(CAPACITY);
        taken.set(0);
        askFromAllThreads(Integer.MAX_VALUE);
        while (limiter.tryAcquireNow(KEY, 1)) {
            taken.incrementAndGet();
        }
        assertThat(taken).hasValue(CAPACITY);
    }

    @Test
    void pausedKeyGivesNothingThoughItsStripesAreFull() throws InterruptedException {
        makeHot();
        limiter.pause(KEY, Duration.ofSeconds(1)).block();
        assertThat(limiter.tryAcquireNow(KEY, 1)).isFalse();
        limiter.pause(KEY, Duration.ZERO).block();
        assertThat(limiter.tryAcquireNow(KEY, 1)).isTrue();
        assertThat(remaining()).isEqualTo(CAPACITY - taken.get() - 1);
    }

    @Test
    void closedLimiterGivesNothing() throws InterruptedException {
        makeHot();
        limiter.dispose();
        assertThat(limiter.tryAcquireNow(KEY, 1)).isFalse();
    }

    /** A clock that counts its readings; nothing here waits. */
    private static final class StandingClock implements Scheduler {

        private final LongAdder readings = new LongAdder();

        @Override
        public long now(TimeUnit unit) {
            readings.increment();
            return 0;
        }

        @Override
        public Disposable schedule(Runnable task) {
            throw new UnsupportedOperationException("nothing here waits");
        }

        @Override
        public Worker createWorker() {
            throw new UnsupportedOperationException("nothing here waits");
        }
    }
}
