package io.github.reactorratelimit.local;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.DirectLimiter;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;

/** A limiter whose key several threads ask for at once, while its clock stands still: every answer is exact. */
class ContendedKeyTest {

    private static final String KEY = "hot";
    private static final long CAPACITY = 200_000;
    private static final int THREADS = 4;

    private final StandingClock clock = new StandingClock();
    private final RateLimiter limiter = RateLimiter.builder(TokenBucket.perSecond(CAPACITY))
            .scheduler(clock)
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
                while (mine < timesEach && DirectLimiter.of(limiter).tryAcquireNow(KEY, 1)) {
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

    private static <T> T get(Mono<T> answer) {
        return Objects.requireNonNull(answer.block());
    }

    private long remaining() {
        return get(limiter.peek(KEY)).remaining();
    }

    @Test
    void exactlyTheCapacityIsGivenOut() throws InterruptedException {
        askFromAllThreads(Integer.MAX_VALUE);
        while (DirectLimiter.of(limiter).tryAcquireNow(KEY, 1)) {
            taken.incrementAndGet();
        }
        assertThat(taken).hasValue(CAPACITY);
    }

    @Test
    void peekAndDecisionTellWhatIsLeft() throws InterruptedException {
        askFromAllThreads(200);
        assertThat(remaining()).isEqualTo(CAPACITY - taken.get());
        Decision decision = get(limiter.tryAcquire(KEY, 5));
        assertThat(decision.remaining()).isEqualTo(CAPACITY - taken.get() - 5);
        limiter.refund(decision).block();
        assertThat(remaining()).isEqualTo(CAPACITY - taken.get());
    }

    @Test
    void resetGivesTheWholeCapacity() throws InterruptedException {
        askFromAllThreads(200);
        limiter.reset(KEY).block();
        assertThat(remaining()).isEqualTo(CAPACITY);
        taken.set(0);
        askFromAllThreads(Integer.MAX_VALUE);
        while (DirectLimiter.of(limiter).tryAcquireNow(KEY, 1)) {
            taken.incrementAndGet();
        }
        assertThat(taken).hasValue(CAPACITY);
    }

    /** Time stands still; nothing here waits. */
    private static final class StandingClock implements Scheduler {

        @Override
        public long now(TimeUnit unit) {
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
