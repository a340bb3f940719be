package io.github.reactorratelimit;

import static java.time.Duration.ZERO;
import static java.time.Duration.ofHours;
import static java.time.Duration.ofMillis;
import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.test.StepVerifier;

/** What a store must do that also holds concurrency limits and knows how long those who wait will take. */
public abstract class FullRateLimiterContract extends RateLimiterContract {

    @Test
    void cancelledWaiterLeavesTheLine() {
        RateLimiter limiter = limiter(TokenBucket.of(1, ofHours(1)));
        now(limiter.tryAcquire(key));
        List<Disposable> waits = IntStream.range(0, 10)
                .mapToObj(i -> limiter.acquire(key).subscribe())
                .toList();
        Duration behindTen = now(limiter.peek(key)).retryAfter().orElseThrow();
        waits.forEach(Disposable::dispose);
        Duration behindNone = now(limiter.peek(key)).retryAfter().orElseThrow();
        assertThat(behindTen).isBetween(ofHours(10), ofHours(11));
        assertThat(behindNone).isLessThanOrEqualTo(ofHours(1));
    }

    @Test
    void leaseIsHeldUntilItIsReleasedOnce() {
        RateLimiter limiter = limiter(ConcurrencyLimit.of(2));
        Lease first = limiter.acquireLease(key, 1, ZERO).block(PATIENCE);
        Lease second = limiter.acquireLease(key, 1, ZERO).block(PATIENCE);
        StepVerifier.create(limiter.acquireLease(key, 1, ZERO))
                .expectErrorSatisfies(error -> assertThat(
                                ((RateLimitExceededException) error).decision().retryAfter())
                        .isEmpty())
                .verify(PATIENCE);
        first.release().then(first.release()).block(PATIENCE);
        Lease third = limiter.acquireLease(key, 1, ZERO).block(PATIENCE);
        StepVerifier.create(limiter.acquireLease(key, 1, ZERO))
                .expectError(RateLimitExceededException.class)
                .verify(PATIENCE);
        second.release().then(third.release()).block(PATIENCE);
        assertThat(now(limiter.peek(key)).remaining()).isEqualTo(2);
    }

    @Test
    void waiterForALeaseIsGrantedByARelease() {
        RateLimiter limiter = limiter(ConcurrencyLimit.of(1));
        Lease held = limiter.acquireLease(key, 1, ZERO).block(PATIENCE);
        Mono<Lease> waiting = limiter.acquireLease(key, 1, PATIENCE).cache();
        waiting.subscribe();
        held.release().block(PATIENCE);
        waiting.flatMap(Lease::release).block(PATIENCE);
        assertThat(now(limiter.peek(key)).remaining()).isEqualTo(1);
    }

    @Test
    void waiterForALeaseIsDeniedWhenItsPatienceEnds() {
        RateLimiter limiter = limiter(ConcurrencyLimit.of(1));
        Lease held = limiter.acquireLease(key, 1, ZERO).block(PATIENCE);
        StepVerifier.create(limiter.acquireLease(key, 1, ofMillis(30)))
                .expectError(RateLimitExceededException.class)
                .verify(PATIENCE);
        held.release().block(PATIENCE);
    }

    @Test
    void useReleasesOnCompletionErrorAndCancel() {
        RateLimiter limiter = limiter(ConcurrencyLimit.of(1));
        AtomicInteger inFlight = new AtomicInteger();
        Sinks.One<Integer> open = Sinks.one();
        limiter.use(key, 1, Flux.range(0, 3).doOnNext(i -> inFlight.set(inUse(limiter))))
                .blockLast(PATIENCE);
        assertThat(inFlight).hasValue(1);
        assertThat(inUse(limiter)).isZero();
        StepVerifier.create(limiter.use(key, 1, Flux.error(new IllegalStateException("work failed"))))
                .expectErrorMessage("work failed")
                .verify(PATIENCE);
        assertThat(inUse(limiter)).isZero();
        Disposable running = limiter.use(key, 1, open.asMono()).subscribe();
        assertThat(inUse(limiter)).isEqualTo(1);
        running.dispose();
        limiter.acquireLease(key, 1, PATIENCE).flatMap(Lease::release).block(PATIENCE);
        assertThat(inUse(limiter)).isZero();
    }

    private int inUse(RateLimiter limiter) {
        Decision decision = now(limiter.peek(key));
        return (int) (decision.limit() - decision.remaining());
    }
}
