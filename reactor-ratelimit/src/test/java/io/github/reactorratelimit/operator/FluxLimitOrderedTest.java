package io.github.reactorratelimit.operator;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;
import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Subscription;
import reactor.core.Scannable;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Sinks;
import reactor.core.scheduler.Schedulers;
import reactor.test.StepVerifier;
import reactor.test.StepVerifierOptions;
import reactor.test.publisher.TestPublisher;
import reactor.util.context.Context;

/** The ordered operator signal by signal, with a limiter that grants by hand. */
class FluxLimitOrderedTest {

    private final HandLimiter limiter = HandLimiter.with(0);
    private final List<Object> discarded = new ArrayList<>();
    private final TestPublisher<String> source = TestPublisher.create();

    private Flux<String> limited(Flux<String> flux, UnaryOperator<LimitSpec<String>> spec) {
        return flux.transform(limitRate(limiter, spec)).doOnDiscard(Object.class, discarded::add);
    }

    private Flux<String> limited() {
        return limited(source.flux(), spec -> spec);
    }

    @Test
    void upstreamIsAskedForOneElementAtATimeAndNoneWhileOneIsHeld() {
        List<Long> requests = new ArrayList<>();
        limiter.add(1);
        StepVerifier.create(limited(Flux.just("a", "b", "c").hide().doOnRequest(requests::add), spec -> spec))
                .expectNext("a")
                .then(() -> assertThat(requests).containsExactly(1L, 1L))
                .then(() -> limiter.add(2))
                .expectNext("b", "c")
                .verifyComplete();
        assertThat(requests).containsOnly(1L);
    }

    @Test
    void nothingIsRequestedBeyondTheDemandOfDownstream() {
        AtomicLong requested = new AtomicLong();
        limiter.add(10);
        StepVerifier.create(
                        limited(Flux.just("a", "b", "c", "d").hide().doOnRequest(requested::addAndGet), spec -> spec),
                        0)
                .expectSubscription()
                .then(() -> assertThat(requested).hasValue(0))
                .thenRequest(1)
                .expectNext("a")
                .then(() -> assertThat(requested).hasValue(1))
                .thenRequest(2)
                .expectNext("b", "c")
                .then(() -> assertThat(requested).hasValue(3))
                .thenCancel()
                .verify();
    }

    @Test
    void oddBatchesAndDemandFromOnNextPassEverything() {
        limiter.add(1000);
        List<Integer> seen = new ArrayList<>();
        Flux.range(0, 1000).transform(limitRate(limiter)).subscribe(new BaseSubscriber<>() {
            @Override
            protected void hookOnSubscribe(Subscription subscription) {
                request(1);
            }

            @Override
            protected void hookOnNext(Integer value) {
                seen.add(value);
                request(value % 7 == 0 ? 3 : 1);
            }
        });
        assertThat(seen).hasSize(1000).isSorted();
        assertThat(limiter.spent()).isEqualTo(1000);
    }

    @Test
    void fusedSourcesKeepTheirElements() {
        limiter.add(300);
        StepVerifier.create(Flux.fromIterable(List.of(1, 2, 3))
                        .publishOn(Schedulers.immediate())
                        .transform(limitRate(limiter))
                        .publishOn(Schedulers.immediate()))
                .expectNext(1, 2, 3)
                .verifyComplete();
        StepVerifier.create(Flux.range(0, 200)
                        .filter(i -> i % 2 == 0)
                        .transform(limitRate(limiter))
                        .map(i -> i / 2))
                .expectNextCount(100)
                .verifyComplete();
    }

    @Test
    void completionWaitsForTheHeldElement() {
        StepVerifier.create(limited())
                .then(() -> source.next("a").complete())
                .then(() -> assertThat(limiter.waiting()).isOne())
                .then(() -> limiter.add(1))
                .expectNext("a")
                .verifyComplete();
        assertThat(discarded).isEmpty();
    }

    @Test
    void completionComesAfterADeniedLastElement() {
        StepVerifier.create(limited(source.flux(), spec -> spec.drop().maxWait(Duration.ofSeconds(1))))
                .then(() -> source.next("a").complete())
                .then(() -> limiter.answer(0, false))
                .verifyComplete();
        assertThat(discarded).containsExactly("a");
    }

    @Test
    void errorDoesNotWaitBehindTheHeldElementWhichIsDiscarded() {
        StepVerifier.create(limited())
                .then(() -> source.next("a").error(new IllegalStateException("boom")))
                .verifyErrorMessage("boom");
        assertThat(discarded).containsExactly("a");
        assertThat(limiter.waiting()).isZero();
        assertThat(limiter.spent()).isZero();
    }

    @Test
    void endThatComesDuringEmissionFollowsTheElement() {
        List<String> signals = new ArrayList<>();
        limited()
                .doOnNext(element -> {
                    source.error(new IllegalStateException("boom"));
                    signals.add(element);
                })
                .subscribe(element -> {}, error -> signals.add(error.getMessage()));
        source.next("a");
        limiter.add(1);
        assertThat(signals).containsExactly("a", "boom");
    }

    @Test
    void cancelWhileHoldingDiscardsTheElementAndLeavesTheLine() {
        StepVerifier.create(limited())
                .then(() -> source.next("a"))
                .then(() -> assertThat(limiter.waiting()).isOne())
                .thenCancel()
                .verify();
        source.assertCancelled();
        assertThat(discarded).containsExactly("a");
        assertThat(limiter.waiting()).isZero();
    }

    @Test
    void grantThatComesAfterTheCancelIsGivenBackOnce() {
        HandLimiter deaf = HandLimiter.with(0).deafToCancel();
        BaseSubscriber<String> subscriber = new BaseSubscriber<>() {};
        source.flux().transform(limitRate(deaf)).subscribe(subscriber);
        source.next("a");
        subscriber.cancel();
        subscriber.cancel();
        deaf.add(1);
        assertThat(deaf.refundCalls()).isOne();
        assertThat(deaf.spent()).isZero();
    }

    @Test
    void cancelInsideOnNextEndsQuietly() {
        limiter.add(5);
        StepVerifier.create(limited(Flux.just("a", "b", "c"), spec -> spec).take(1))
                .expectNext("a")
                .verifyComplete();
        assertThat(limiter.spent()).isOne();
        HandLimiter waiting = HandLimiter.with(0);
        StepVerifier.create(Flux.just("a", "b").transform(limitRate(waiting)).take(1))
                .then(() -> waiting.add(5))
                .expectNext("a")
                .verifyComplete();
        assertThat(waiting.spent()).isOne();
    }

    @Test
    void contextReachesTheLimiterAndTheKeyFunctions() {
        StepVerifier.create(
                        limited(
                                source.flux(),
                                spec -> spec.keyFromContext(context -> context.get("user"))
                                        .costFromContext(context -> context.<Integer>get("cost"))),
                        StepVerifierOptions.create().withInitialContext(Context.of("user", "alice", "cost", 3)))
                .then(() -> source.next("a"))
                .then(() -> assertThat(limiter.contextOfWaiter(0).<String>get("user"))
                        .isEqualTo("alice"))
                .then(() -> limiter.add(3))
                .expectNext("a")
                .thenCancel()
                .verify();
        assertThat(limiter.spent()).isEqualTo(3);
    }

    @Test
    void emptyFailingAndSilentSourcesPassThrough() {
        StepVerifier.create(limited(Flux.empty(), spec -> spec)).verifyComplete();
        StepVerifier.create(limited(Flux.error(new IllegalStateException("boom")), spec -> spec))
                .verifyErrorMessage("boom");
        StepVerifier.create(limited(Flux.never(), spec -> spec))
                .expectSubscription()
                .thenCancel()
                .verify();
    }

    @Test
    void hotSourceIsPacedByItsBuffer() {
        Sinks.Many<String> sink = Sinks.many().multicast().onBackpressureBuffer();
        StepVerifier.create(limited(sink.asFlux(), spec -> spec))
                .then(() -> List.of("a", "b", "c")
                        .forEach(element -> sink.tryEmitNext(element).orThrow()))
                .then(() -> limiter.add(2))
                .expectNext("a", "b")
                .then(sink::tryEmitComplete)
                .then(() -> limiter.add(1))
                .expectNext("c")
                .verifyComplete();
        limiter.add(6);
        Flux<String> shared = limited(Flux.just("x", "y").publish().autoConnect(2), spec -> spec);
        StepVerifier.create(Flux.merge(shared, shared)).expectNextCount(4).verifyComplete();
    }

    @Test
    void subscriptionGoesDownAtOnceAndNothingIsAskedBefore() {
        Flux<String> flux = limited(Flux.just("a"), spec -> spec);
        assertThat(limiter.waiting()).isZero();
        StepVerifier.create(flux, 0)
                .expectSubscription()
                .then(() -> assertThat(limiter.waiting()).isZero())
                .thenRequest(1)
                .then(() -> assertThat(limiter.waiting()).isOne())
                .thenCancel()
                .verify();
    }

    @Test
    void subscriberTellsItsState() {
        List<Scannable> subscribers = new ArrayList<>();
        Flux<String> flux = source.flux().transform(limitRate(limiter));
        assertThat(Scannable.from(flux).scan(Scannable.Attr.RUN_STYLE)).isEqualTo(Scannable.Attr.RunStyle.ASYNC);
        assertThat(Scannable.from(flux).scan(Scannable.Attr.PARENT)).isNotNull();
        StepVerifier.create(flux.doOnSubscribe(s -> subscribers.add(Scannable.from(s))), 2)
                .then(() -> source.next("a"))
                .then(() -> {
                    Scannable subscriber = subscribers.get(0);
                    assertThat(subscriber.scan(Scannable.Attr.BUFFERED)).isOne();
                    assertThat(subscriber.scan(Scannable.Attr.REQUESTED_FROM_DOWNSTREAM))
                            .isEqualTo(2);
                    assertThat(subscriber.scan(Scannable.Attr.CANCELLED)).isFalse();
                    assertThat(subscriber.scan(Scannable.Attr.ACTUAL)).isNotNull();
                    assertThat(subscriber.scan(Scannable.Attr.PARENT)).isNotNull();
                })
                .thenCancel()
                .verify();
        assertThat(subscribers.get(0).scan(Scannable.Attr.CANCELLED)).isTrue();
        assertThat(subscribers.get(0).scan(Scannable.Attr.BUFFERED)).isZero();
    }
}
