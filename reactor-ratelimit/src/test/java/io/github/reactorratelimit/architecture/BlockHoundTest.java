package io.github.reactorratelimit.architecture;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.DirectLimiter;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.Policies;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimitRecorder;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterClosedException;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.blockhound.BlockingOperationError;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;
import reactor.test.StepVerifier;

/**
 * Nothing a limiter does blocks. It runs on the parallel scheduler here, whose threads must not block;
 * those of boundedElastic, where subscribers are told by default, may.
 */
class BlockHoundTest {

    private static final Duration TIMEOUT = ofSeconds(30);

    private final Queue<Throwable> thrownInTasks = new ConcurrentLinkedQueue<>();

    @BeforeEach
    void watchTasks() {
        Schedulers.onHandleError("BlockHoundTest", (thread, error) -> thrownInTasks.add(error));
    }

    @AfterEach
    void nothingWasThrownInATask() {
        Schedulers.resetOnHandleError("BlockHoundTest");
        assertThat(thrownInTasks).isEmpty();
    }

    private static void block() {
        LockSupport.parkNanos(1);
    }

    @Test
    void blockingOnANonBlockingThreadIsDetected() {
        Mono.fromRunnable(BlockHoundTest::block)
                .subscribeOn(Schedulers.parallel())
                .as(StepVerifier::create)
                .expectError(BlockingOperationError.class)
                .verify(TIMEOUT);
    }

    @Test
    void blockingInsideALimiterIsDetected() {
        RateLimiter limiter = RateLimiter.builder(TokenBucket.perHour(1))
                .scheduler(Schedulers.parallel())
                .recorder(new RateLimitRecorder() {
                    @Override
                    public void decided(boolean allowed, long permits) {
                        block();
                    }
                })
                .build();
        limiter.acquire("alice")
                .subscribeOn(Schedulers.parallel())
                .as(StepVerifier::create)
                .expectError(BlockingOperationError.class)
                .verify(TIMEOUT);
    }

    static Stream<RateLimitPolicy> policies() {
        return Stream.of(
                TokenBucket.of(2, ofMillis(1)).withBurst(3),
                LeakyBucket.of(2, ofMillis(1)),
                SlidingWindowLog.of(4, ofMillis(2)),
                Policies.all(TokenBucket.of(2, ofMillis(1)), SlidingWindowLog.of(4, ofMillis(2))));
    }

    @ParameterizedTest
    @MethodSource("policies")
    void nothingBlocksWhileRequestsWaitAreCancelledAndRefunded(RateLimitPolicy policy) {
        RateLimiter limiter = onParallel(policy);
        Flux.range(0, 200)
                .flatMap(i -> request(limiter, i).subscribeOn(Schedulers.parallel()), 50)
                .then(limiter.close())
                .as(StepVerifier::create)
                .expectComplete()
                .verify(TIMEOUT);
    }

    /** What is cut off in time has no element: takeUntilOther drops one that comes at the same moment. */
    private static Mono<?> request(RateLimiter limiter, int i) {
        String key = "key " + i % 4;
        return switch (i % 6) {
            case 0 -> limiter.acquire(key, 1, ofMillis(1));
            case 1 -> limiter.tryAcquire(key);
            case 2 -> limiter.acquire(key).then().takeUntilOther(Mono.delay(ofMillis(1)));
            case 3 -> limiter.acquire(key).flatMap(limiter::refund);
            case 4 -> limiter.pause(key, ofMillis(1)).then(limiter.peek(key)).then(limiter.reset(key));
            default -> limiter.acquire(key);
        };
    }

    @Test
    void nothingBlocksWhileLeasesAreWaitedForAndReleased() {
        RateLimiter limiter = onParallel(ConcurrencyLimit.of(2));
        Flux.range(0, 50)
                .flatMap(
                        i -> limiter.use(
                                        "alice",
                                        1,
                                        Mono.delay(ofMillis(1)).then().takeUntilOther(Mono.delay(ofMillis(i % 3))))
                                .subscribeOn(Schedulers.parallel()),
                        50)
                .then(limiter.close())
                .as(StepVerifier::create)
                .expectComplete()
                .verify(TIMEOUT);
    }

    @Test
    void nothingBlocksWhenALimiterIsClosedWithWaiters() {
        RateLimiter limiter = onParallel(TokenBucket.perHour(1));
        assertThat(DirectLimiter.of(limiter).tryAcquireNow("alice", 1)).isTrue();
        Mono<Decision> request = limiter.acquire("alice").subscribeOn(Schedulers.parallel());
        Mono<Long> failed = Flux.range(0, 100)
                .flatMap(
                        i -> request.map(decision -> false)
                                .onErrorResume(RateLimiterClosedException.class, closed -> Mono.just(true)),
                        100)
                .filter(closed -> closed)
                .count();
        Mono<Void> close = Mono.delay(ofMillis(20)).then(limiter.close());
        Mono.zip(failed, close.thenReturn(true))
                .as(StepVerifier::create)
                .assertNext(both -> assertThat(both.getT1()).isEqualTo(100))
                .expectComplete()
                .verify(TIMEOUT);
    }

    private static RateLimiter onParallel(RateLimitPolicy policy) {
        return RateLimiter.builder(policy).scheduler(Schedulers.parallel()).build();
    }
}
