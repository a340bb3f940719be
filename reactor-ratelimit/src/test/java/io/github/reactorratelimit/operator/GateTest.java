package io.github.reactorratelimit.operator;

import static io.github.reactorratelimit.TokenBucket.perSecond;
import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.PermitsExceedCapacityException;
import io.github.reactorratelimit.RateLimitExceededException;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.testing.Drops;
import io.github.reactorratelimit.testing.ExpectsDrops;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.Scannable;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;
import reactor.test.StepVerifierOptions;
import reactor.test.publisher.PublisherProbe;
import reactor.test.publisher.TestPublisher;
import reactor.util.context.Context;
import reactor.util.retry.Retry;

/** Subscriptions of a Mono, and of a Flux with perSubscription(), that wait for a permit. */
class GateTest {

    private final HandLimiter limiter = HandLimiter.with(0);
    private final PublisherProbe<String> monoSource = PublisherProbe.of(Mono.just("a"));
    private final PublisherProbe<String> fluxSource = PublisherProbe.of(Flux.just("a", "b", "c"));

    private Flux<String> gatedFlux() {
        return fluxSource.flux().transform(limitRate(limiter, LimitSpec::perSubscription));
    }

    private Mono<String> gatedMono() {
        return monoSource.mono().transform(limitRate(limiter));
    }

    @Test
    void sourceIsSubscribedOnlyWhenGranted() {
        StepVerifier.create(gatedMono())
                .expectSubscription()
                .then(monoSource::assertWasNotSubscribed)
                .then(() -> limiter.add(1))
                .expectNext("a")
                .verifyComplete();
        monoSource.assertWasSubscribed();
        StepVerifier.create(gatedFlux())
                .expectSubscription()
                .then(fluxSource::assertWasNotSubscribed)
                .then(() -> limiter.add(1))
                .expectNext("a", "b", "c")
                .verifyComplete();
        assertThat(limiter.spent()).isEqualTo(2);
    }

    @Test
    void permitThatIsThereLetsThroughAtOnceForOneSubscription() {
        limiter.add(2);
        StepVerifier.create(gatedMono()).expectNext("a").verifyComplete();
        StepVerifier.create(gatedFlux()).expectNext("a", "b", "c").verifyComplete();
        assertThat(limiter.spent()).isEqualTo(2);
    }

    @Test
    void permitThatIsThereLeavesNothingBetweenSourceAndSubscriber() {
        limiter.add(1);
        List<Subscription> seen = new ArrayList<>();
        Subscription own = new BaseSubscriber<>() {};
        Mono<String> source = Mono.fromDirect(subscriber -> subscriber.onSubscribe(own));
        source.transform(limitRate(limiter))
                .doOnSubscribe(seen::add)
                .subscribe()
                .dispose();
        assertThat(seen).containsExactly(own);
    }

    @Test
    void demandIsRememberedUntilTheSourceIsThere() {
        StepVerifier.create(gatedFlux(), 0)
                .expectSubscription()
                .thenRequest(1)
                .thenRequest(1)
                .then(() -> limiter.add(1))
                .expectNext("a", "b")
                .thenRequest(1)
                .expectNext("c")
                .verifyComplete();
    }

    @Test
    void cancelWhileWaitingLeavesTheLineAndTheSourceAlone() {
        StepVerifier.create(gatedFlux())
                .expectSubscription()
                .then(() -> assertThat(limiter.waiting()).isOne())
                .thenCancel()
                .verify();
        assertThat(limiter.waiting()).isZero();
        limiter.add(1);
        fluxSource.assertWasNotSubscribed();
        assertThat(limiter.spent()).isZero();
    }

    @Test
    void grantThatComesAfterTheCancelIsGivenBackOnce() {
        HandLimiter deaf = HandLimiter.with(0).deafToCancel();
        StepVerifier.create(monoSource.mono().transform(limitRate(deaf)))
                .thenCancel()
                .verify();
        deaf.add(1);
        monoSource.assertWasNotSubscribed();
        assertThat(deaf.refundCalls()).isOne();
        assertThat(deaf.spent()).isZero();
    }

    @Test
    void cancelInsideOnSubscribeAsksForNothing() {
        gatedMono().subscribe(new BaseSubscriber<>() {
            @Override
            protected void hookOnSubscribe(Subscription subscription) {
                cancel();
            }
        });
        assertThat(limiter.waiting()).isZero();
        limiter.add(1);
        monoSource.assertWasNotSubscribed();
        assertThat(limiter.spent()).isZero();
    }

    @Test
    void deniedSubscriptionFailsAndTheSourceIsLeftAlone() {
        StepVerifier.create(monoSource.mono().transform(limitRate(limiter, LimitSpec::reject)))
                .verifyError(RateLimitExceededException.class);
        StepVerifier.create(fluxSource
                        .flux()
                        .transform(limitRate(
                                limiter, spec -> spec.perSubscription().reject())))
                .verifyError(RateLimitExceededException.class);
        monoSource.assertWasNotSubscribed();
        fluxSource.assertWasNotSubscribed();
    }

    @Test
    void droppedSubscriptionCompletesEmpty() {
        StepVerifier.create(monoSource.mono().transform(limitRate(limiter, LimitSpec::drop)))
                .verifyComplete();
        StepVerifier.create(fluxSource
                        .flux()
                        .transform(limitRate(
                                limiter, spec -> spec.perSubscription().drop())))
                .verifyComplete();
        monoSource.assertWasNotSubscribed();
        fluxSource.assertWasNotSubscribed();
    }

    @Test
    void deniedSubscriptionSwitchesToTheFallback() {
        StepVerifier.create(monoSource
                        .mono()
                        .transform(limitRate(
                                limiter,
                                spec -> spec.fallback(decision -> {
                                    assertThat(decision.allowed()).isFalse();
                                    return Flux.just("other", "ignored");
                                }))))
                .expectNext("other")
                .verifyComplete();
        StepVerifier.create(
                        fluxSource
                                .flux()
                                .transform(limitRate(
                                        limiter,
                                        spec -> spec.perSubscription().fallback(decision -> Flux.just("x", "y")))),
                        1)
                .expectNext("x")
                .thenRequest(1)
                .expectNext("y")
                .verifyComplete();
        monoSource.assertWasNotSubscribed();
        fluxSource.assertWasNotSubscribed();
    }

    @Test
    void fallbackThatFailsOrReturnsNullIsAnError() {
        StepVerifier.create(monoSource.mono().transform(limitRate(limiter, spec -> spec.fallback(decision -> null))))
                .verifyErrorMessage("fallback returned null");
        StepVerifier.create(monoSource
                        .mono()
                        .transform(limitRate(
                                limiter,
                                spec -> spec.fallback(decision -> {
                                    throw new IllegalStateException("broken");
                                }))))
                .verifyErrorMessage("broken");
    }

    @Test
    void waitIsDeniedLater() {
        StepVerifier.create(gatedMono())
                .then(() -> limiter.answer(0, false))
                .verifyError(RateLimitExceededException.class);
        StepVerifier.create(gatedMono())
                .then(() -> limiter.fail(new IllegalStateException("store")))
                .verifyErrorMessage("store");
        monoSource.assertWasNotSubscribed();
    }

    @Test
    void sourceThatThrowsOnSubscribeIsAnErrorAtOnceAndAfterAWait() {
        Mono<String> broken = new Mono<>() {
            @Override
            public void subscribe(CoreSubscriber<? super String> actual) {
                throw new IllegalStateException("broken source");
            }
        };
        limiter.add(1);
        StepVerifier.create(broken.transform(limitRate(limiter))).verifyErrorMessage("broken source");
        StepVerifier.create(broken.transform(limitRate(limiter)))
                .then(() -> limiter.add(1))
                .verifyErrorMessage("broken source");
    }

    @Test
    void emptyAndFailingSourcesPassThrough() {
        StepVerifier.create(Mono.empty().transform(limitRate(limiter)))
                .then(() -> limiter.add(1))
                .verifyComplete();
        StepVerifier.create(Flux.error(new IllegalStateException("boom"))
                        .transform(limitRate(limiter, LimitSpec::perSubscription)))
                .then(() -> limiter.add(1))
                .verifyErrorMessage("boom");
    }

    @Test
    void keyAndCostComeFromTheContext() {
        StepVerifier.create(
                        monoSource
                                .mono()
                                .transform(limitRate(
                                        limiter,
                                        spec -> spec.keyFromContext(context -> context.get("user"))
                                                .costFromContext(context -> 2))),
                        StepVerifierOptions.create().withInitialContext(Context.of("user", "alice")))
                .then(() -> assertThat(limiter.contextOfWaiter(0).<String>get("user"))
                        .isEqualTo("alice"))
                .then(() -> limiter.add(2))
                .expectNext("a")
                .verifyComplete();
        assertThat(limiter.spent()).isEqualTo(2);
    }

    @Test
    void contextReachesTheSourceAfterAWait() {
        StepVerifier.create(
                        Mono.deferContextual(context -> Mono.just(context.<String>get("user")))
                                .transform(limitRate(limiter)),
                        StepVerifierOptions.create().withInitialContext(Context.of("user", "alice")))
                .then(() -> limiter.add(1))
                .expectNext("alice")
                .verifyComplete();
    }

    @Test
    void badKeysAndCostsAreErrorsAndSpendNothing() {
        limiter.add(1);
        StepVerifier.create(monoSource.mono().transform(limitRate(limiter, spec -> spec.keyFromContext(context -> ""))))
                .verifyErrorMessage("key must not be empty");
        StepVerifier.create(monoSource.mono().transform(limitRate(limiter, spec -> spec.costFromContext(context -> 0))))
                .verifyErrorMessage("cost must be positive, was 0");
        StepVerifier.create(monoSource.mono().transform(limitRate(limiter, spec -> spec.cost(5000))))
                .verifyError(PermitsExceedCapacityException.class);
        monoSource.assertWasNotSubscribed();
        assertThat(limiter.spent()).isZero();
    }

    @Test
    void everyResubscriptionAsksAgain() {
        StepVerifier.withVirtualTime(() -> Mono.just(1)
                        .transform(limitRate(RateLimiter.of(perSecond(1))))
                        .repeat(2))
                .expectSubscription()
                .expectNext(1)
                .expectNoEvent(ofSeconds(1))
                .expectNext(1)
                .expectNoEvent(ofSeconds(1))
                .expectNext(1)
                .verifyComplete();
    }

    @Test
    void retryAsksAgainAfterADenial() {
        StepVerifier.withVirtualTime(() -> Mono.just(1)
                        .transform(limitRate(RateLimiter.of(perSecond(1)), LimitSpec::reject))
                        .retryWhen(Retry.fixedDelay(9, ofMillis(500)))
                        .repeat(1))
                .expectSubscription()
                .expectNext(1)
                .expectNoEvent(ofSeconds(1))
                .expectNext(1)
                .verifyComplete();
    }

    @Test
    @ExpectsDrops
    void signalsAfterTheEndAreDropped() {
        TestPublisher<String> unruly = TestPublisher.createNoncompliant(TestPublisher.Violation.CLEANUP_ON_TERMINATE);
        StepVerifier.create(unruly.flux().transform(limitRate(limiter, LimitSpec::perSubscription)))
                .then(() -> limiter.add(1))
                .then(() -> unruly.complete()
                        .next("late")
                        .error(new IllegalStateException("late"))
                        .complete())
                .verifyComplete();
        assertThat(Drops.take()).hasSize(2).first().isEqualTo("late");
    }

    @Test
    void badRequestsChangeNothing() {
        TestPublisher<String> source = TestPublisher.create();
        AtomicLong requested = new AtomicLong();
        source.flux()
                .doOnRequest(requested::addAndGet)
                .transform(limitRate(limiter, LimitSpec::perSubscription))
                .subscribe(new CoreSubscriber<>() {
                    @Override
                    public void onSubscribe(Subscription s) {
                        s.request(0);
                        s.request(-1);
                    }

                    @Override
                    public void onNext(String element) {}

                    @Override
                    public void onError(Throwable failure) {
                        throw new AssertionError(failure);
                    }

                    @Override
                    public void onComplete() {}
                });
        limiter.add(1);
        source.assertSubscribers(1);
        assertThat(requested).hasValue(0);
    }

    @Test
    void gateTellsItsState() {
        List<Scannable> gates = new ArrayList<>();
        Flux<String> gated = gatedFlux();
        assertThat(Scannable.from(gated).scan(Scannable.Attr.RUN_STYLE)).isEqualTo(Scannable.Attr.RunStyle.ASYNC);
        StepVerifier.create(gated.doOnSubscribe(s -> gates.add(Scannable.from(s))), 2)
                .expectSubscription()
                .then(() -> {
                    assertThat(gates.get(0).scan(Scannable.Attr.REQUESTED_FROM_DOWNSTREAM))
                            .isEqualTo(2);
                    assertThat(gates.get(0).scan(Scannable.Attr.TERMINATED)).isFalse();
                    assertThat(gates.get(0).scan(Scannable.Attr.ACTUAL)).isNotNull();
                })
                .thenCancel()
                .verify();
        assertThat(gates.get(0).scan(Scannable.Attr.CANCELLED)).isTrue();
    }
}
