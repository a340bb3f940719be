package io.github.reactorratelimit.operator;

import static io.github.reactorratelimit.TokenBucket.perSecond;
import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.PermitsExceedCapacityException;
import io.github.reactorratelimit.RateLimitContext;
import io.github.reactorratelimit.RateLimitExceededException;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterClosedException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Publisher;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;

/** The cells of the design's table for a Flux, on the real limiter in virtual time. */
class PacingTest {

    private static <T> StepVerifier.FirstStep<T> inVirtualTime(Supplier<Flux<T>> flux) {
        return StepVerifier.withVirtualTime(flux);
    }

    @Test
    void thirdElementWaitsOneIntervalAfterTheBurst() {
        inVirtualTime(() -> Flux.range(1, 3).transform(limitRate(perSecond(1).withBurst(2))))
                .expectSubscription()
                .expectNext(1, 2)
                .expectNoEvent(ofMillis(999))
                .thenAwait(ofMillis(1))
                .expectNext(3)
                .verifyComplete();
    }

    @Test
    void subscribersOfOnePolicyShareItsLimiter() {
        inVirtualTime(() -> {
                    Flux<Integer> paced = Flux.range(1, 2).transform(limitRate(perSecond(1)));
                    return Flux.merge(paced, paced);
                })
                .expectSubscription()
                .expectNext(1)
                .thenAwait(ofSeconds(3))
                .expectNextCount(3)
                .verifyComplete();
    }

    @Test
    void eachCallOfLimitRateHasALimiterOfItsOwn() {
        inVirtualTime(() -> Flux.merge(
                        Flux.just(1).transform(limitRate(perSecond(1))),
                        Flux.just(2).transform(limitRate(perSecond(1)))))
                .expectNext(1, 2)
                .verifyComplete();
    }

    @Test
    void costlyElementWaitsForAllItsPermits() {
        inVirtualTime(() -> Flux.just(5, 3, 1)
                        .transform(
                                limitRate(RateLimiter.of(perSecond(1).withBurst(5)), spec -> spec.cost(cost -> cost))))
                .expectSubscription()
                .expectNext(5)
                .expectNoEvent(ofMillis(2_999))
                .thenAwait(ofMillis(1))
                .expectNext(3)
                .expectNoEvent(ofMillis(999))
                .thenAwait(ofMillis(1))
                .expectNext(1)
                .verifyComplete();
    }

    @Test
    void waitingKeyHoldsTheOthersBackInOrder() {
        inVirtualTime(() -> Flux.just("a1", "a2", "b1").transform(keyed(spec -> spec)))
                .expectSubscription()
                .expectNext("a1")
                .expectNoEvent(ofSeconds(1))
                .expectNext("a2", "b1")
                .verifyComplete();
    }

    @Test
    void otherKeysOvertakeUnordered() {
        inVirtualTime(() -> Flux.just("a1", "a2", "a3", "b1", "b2").transform(keyed(spec -> spec.unordered(8))))
                .expectSubscription()
                .expectNext("a1", "b1")
                .expectNoEvent(ofSeconds(1))
                .expectNext("a2", "b2")
                .expectNoEvent(ofSeconds(1))
                .expectNext("a3")
                .verifyComplete();
    }

    @Test
    void fullHandHoldsOtherKeysBackUnordered() {
        inVirtualTime(() -> Flux.just("a1", "a2", "a3", "b1").transform(keyed(spec -> spec.unordered(2))))
                .expectSubscription()
                .expectNext("a1")
                .expectNoEvent(ofSeconds(1))
                .expectNext("a2", "b1")
                .expectNoEvent(ofSeconds(1))
                .expectNext("a3")
                .verifyComplete();
    }

    private static UnaryOperator<Publisher<String>> keyed(UnaryOperator<LimitSpec<String>> more) {
        return limitRate(
                RateLimiter.of(perSecond(1)), spec -> more.apply(spec.key(element -> element.substring(0, 1))));
    }

    @Test
    void rejectedElementEndsTheStreamWithItsDecision() {
        StepVerifier.create(Flux.range(1, 3)
                        .transform(limitRate(RateLimiter.of(perSecond(1).withBurst(2)), LimitSpec::reject)))
                .expectNext(1, 2)
                .verifyErrorSatisfies(error -> assertThat(error)
                        .isInstanceOfSatisfying(
                                RateLimitExceededException.class,
                                exceeded -> assertThat(
                                                exceeded.decision().retryAfter().orElseThrow())
                                        .isPositive()
                                        .isLessThanOrEqualTo(ofSeconds(1))));
    }

    @Test
    void waitLongerThanMaxWaitIsDeniedAtOnceAndCostsNothing() {
        inVirtualTime(() -> {
                    RateLimiter limiter = RateLimiter.of(perSecond(1));
                    return Flux.just("first", "second")
                            .transform(limitRate(limiter, spec -> spec.maxWait(ofMillis(999))))
                            .onErrorResume(
                                    RateLimitExceededException.class,
                                    denied -> limiter.acquire(LimitSpec.DEFAULT_KEY)
                                            .thenReturn("a second later"));
                })
                .expectSubscription()
                .expectNext("first")
                .expectNoEvent(ofMillis(999))
                .thenAwait(ofMillis(1))
                .expectNext("a second later")
                .verifyComplete();
    }

    @Test
    void waitOfExactlyMaxWaitIsWaitedFor() {
        inVirtualTime(() -> Flux.range(1, 2)
                        .transform(limitRate(RateLimiter.of(perSecond(1)), spec -> spec.maxWait(ofSeconds(1)))))
                .expectSubscription()
                .expectNext(1)
                .expectNoEvent(ofSeconds(1))
                .expectNext(2)
                .verifyComplete();
    }

    @Test
    void deadlineInTheContextEndsAWaitAtOnce() {
        inVirtualTime(() -> Flux.range(1, 2)
                        .transform(limitRate(perSecond(1)))
                        .contextWrite(RateLimitContext.deadline(ofMillis(500))))
                .expectNext(1)
                .verifyError(RateLimitExceededException.class);
    }

    @Test
    void droppedElementsGoToTheCallbackAndTheDiscardHookAndTheStreamGoesOn() {
        List<Object> told = new ArrayList<>();
        List<Object> discarded = new ArrayList<>();
        StepVerifier.create(Flux.range(1, 5)
                        .transform(limitRate(
                                RateLimiter.of(perSecond(1).withBurst(2)),
                                spec -> spec.drop((element, decision) -> {
                                    assertThat(decision.allowed()).isFalse();
                                    told.add(element);
                                })))
                        .doOnDiscard(Integer.class, discarded::add))
                .expectNext(1, 2)
                .verifyComplete();
        assertThat(told).containsExactly(3, 4, 5);
        assertThat(discarded).containsExactly(3, 4, 5);
    }

    @Test
    void dropWaitsFirstIfToldTo() {
        inVirtualTime(() -> Flux.just(1, 1, 3, 1)
                        .index()
                        .transform(limitRate(
                                RateLimiter.of(perSecond(1).withBurst(3)),
                                spec -> spec.cost(element -> element.getT2())
                                        .drop()
                                        .maxWait(ofSeconds(1)))))
                .expectSubscription()
                .expectNextMatches(element -> element.getT1() == 0)
                .expectNextMatches(element -> element.getT1() == 1)
                .expectNextMatches(element -> element.getT1() == 3)
                .verifyComplete();
    }

    @Test
    void fallbackReplacesDeniedElements() {
        StepVerifier.create(Flux.range(1, 4)
                        .transform(limitRate(
                                RateLimiter.of(perSecond(1).withBurst(2)),
                                spec -> spec.fallback((element, decision) -> -element))))
                .expectNext(1, 2, -3, -4)
                .verifyComplete();
    }

    @Test
    void costAboveCapacityIsAnErrorAtOnce() {
        StepVerifier.create(Flux.just(1).transform(limitRate(RateLimiter.of(perSecond(5)), spec -> spec.cost(6))))
                .verifyError(PermitsExceedCapacityException.class);
        StepVerifier.create(Flux.just(1)
                        .transform(limitRate(RateLimiter.of(perSecond(5)), spec -> spec.cost(Long.MAX_VALUE))))
                .verifyError(PermitsExceedCapacityException.class);
        StepVerifier.create(Flux.just(1).transform(limitRate(RateLimiter.of(perSecond(5)), spec -> spec.cost(5))))
                .expectNext(1)
                .verifyComplete();
    }

    @Test
    void closedLimiterEndsTheStreamThatWaits() {
        RateLimiter limiter = RateLimiter.of(perSecond(1).withBurst(1));
        StepVerifier.create(Flux.range(1, 2).transform(limitRate(limiter)))
                .expectNext(1)
                .then(limiter::dispose)
                .verifyError(RateLimiterClosedException.class);
    }

    @Test
    void leakyBucketSpacesElements() {
        inVirtualTime(() -> Flux.range(1, 3).transform(limitRate(new LeakyBucket(10, ofSeconds(1), 5))))
                .expectSubscription()
                .expectNext(1)
                .expectNoEvent(ofMillis(100))
                .expectNext(2)
                .expectNoEvent(ofMillis(100))
                .expectNext(3)
                .verifyComplete();
    }

    @Test
    void cancelledWaitGivesItsPlaceBack() {
        inVirtualTime(() -> {
                    RateLimiter limiter = RateLimiter.of(perSecond(1));
                    Disposable first =
                            Flux.range(1, 2).transform(limitRate(limiter)).subscribe();
                    return Flux.just("next")
                            .transform(limitRate(limiter))
                            .mergeWith(Mono.delay(ofMillis(400))
                                    .doOnNext(tick -> first.dispose())
                                    .then(Mono.empty()));
                })
                .expectSubscription()
                .expectNoEvent(ofSeconds(1))
                .expectNext("next")
                .verifyComplete();
    }

    @Test
    void everyResubscriptionAsksAgain() {
        inVirtualTime(() -> Flux.just(1).transform(limitRate(perSecond(1))).repeat(2))
                .expectSubscription()
                .expectNext(1)
                .expectNoEvent(ofSeconds(1))
                .expectNext(1)
                .expectNoEvent(ofSeconds(1))
                .expectNext(1)
                .verifyComplete();
    }

    @Test
    void lateSourceFindsWhatTheBucketGatheredMeanwhile() {
        inVirtualTime(() -> Flux.interval(ofSeconds(2), Duration.ofSeconds(2))
                        .take(3)
                        .transform(limitRate(perSecond(1))))
                .expectSubscription()
                .expectNoEvent(ofSeconds(2))
                .expectNext(0L)
                .expectNoEvent(ofSeconds(2))
                .expectNext(1L)
                .expectNoEvent(ofSeconds(2))
                .expectNext(2L)
                .verifyComplete();
    }
}
