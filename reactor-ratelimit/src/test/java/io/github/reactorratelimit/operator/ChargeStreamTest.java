package io.github.reactorratelimit.operator;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.RateLimitExceededException;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.operator.HandLimiter.HandReservation;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import reactor.core.Disposable;
import reactor.core.Scannable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;
import reactor.test.publisher.PublisherProbe;
import reactor.test.publisher.TestPublisher;
import reactor.util.context.Context;

/** Streams that are charged by what they carry. */
class ChargeStreamTest {

    private final HandLimiter limiter = HandLimiter.with(0);
    private final TestPublisher<Long> source = TestPublisher.create();

    private Flux<Long> charged(UnaryOperator<LimitSpec<Long>> more) {
        return source.flux()
                .transform(limitRate(
                        limiter, spec -> more.apply(spec.key("k").cost(10).chargeElements(cost -> cost))));
    }

    private HandReservation reservation() {
        return limiter.reservations.get(0);
    }

    private StepVerifier.Step<Long> granted(UnaryOperator<LimitSpec<Long>> more) {
        return StepVerifier.create(charged(more))
                .expectSubscription()
                .then(source::assertWasNotSubscribed)
                .then(() -> limiter.add(10));
    }

    @Test
    void sourceIsSubscribedWhenTheEstimateIsReservedAndSettledWhenItCompletes() {
        granted(spec -> spec)
                .then(() -> source.next(3L, 4L).complete())
                .expectNext(3L, 4L)
                .verifyComplete();
        assertThat(limiter.spent()).isEqualTo(10);
        assertThat(reservation().accrued).isEmpty();
        assertThat(reservation().settled).containsExactly(7L);
    }

    @Test
    void errorSettlesWhatWasPassedOn() {
        granted(spec -> spec)
                .then(() -> source.next(3L).error(new IllegalStateException("boom")))
                .expectNext(3L)
                .verifyErrorMessage("boom");
        assertThat(reservation().settled).containsExactly(3L);
    }

    @Test
    void cancelSettlesWhatWasPassedOn() {
        granted(spec -> spec)
                .then(() -> source.next(3L))
                .expectNext(3L)
                .thenCancel()
                .verify();
        assertThat(reservation().settled).containsExactly(3L);
        source.assertCancelled();
    }

    @Test
    void cancelWhileWaitingReservesNothing() {
        StepVerifier.create(charged(spec -> spec))
                .expectSubscription()
                .thenCancel()
                .verify();
        limiter.add(10);
        assertThat(limiter.spent()).isZero();
        source.assertWasNotSubscribed();
    }

    @Test
    void grantThatComesAfterTheCancelIsGivenBack() {
        limiter.deafToCancel();
        StepVerifier.create(charged(spec -> spec))
                .expectSubscription()
                .thenCancel()
                .verify();
        limiter.add(10);
        source.assertWasNotSubscribed();
        assertThat(limiter.reservations)
                .allSatisfy(late -> assertThat(late.settled).containsExactly(0L));
    }

    @Test
    void elementThatComesAfterTheCancelIsDiscardedAndNotCounted() {
        List<Object> discarded = new ArrayList<>();
        TestPublisher<Long> rude = TestPublisher.createNoncompliant(TestPublisher.Violation.CLEANUP_ON_TERMINATE);
        limiter.add(10);
        Disposable running = rude.flux()
                .transform(limitRate(limiter, spec -> spec.cost(10).chargeElements(cost -> cost)))
                .contextWrite(context -> reactor.core.publisher.Operators.enableOnDiscard(context, discarded::add))
                .subscribe();
        rude.next(1L);
        running.dispose();
        rude.next(2L);
        assertThat(reservation().settled).containsExactly(1L);
        assertThat(discarded).containsExactly(2L);
    }

    @Test
    void whatExceedsTheEstimateIsChargedInSteps() {
        granted(spec -> spec)
                .then(() -> source.next(9L, 5L, 1L, 4L, 1L, 3L).complete())
                .expectNextCount(6)
                .verifyComplete();
        assertThat(reservation().accrued).containsExactly(14L, 19L, 23L);
        assertThat(reservation().settled).containsExactly(23L);
    }

    @Test
    void stepIsAQuarterOfTheEstimate() {
        granted(spec -> spec)
                .then(() -> source.next(11L, 1L, 1L).complete())
                .expectNextCount(3)
                .verifyComplete();
        assertThat(reservation().accrued).containsExactly(12L);
    }

    @Test
    void atMostOneChargeIsUnderWayAndNoElementWaitsForIt() {
        granted(spec -> spec.cost(4))
                .then(() -> reservation().chargesAtOnce = false)
                .then(() -> source.next(11L, 1L, 1L))
                .expectNext(11L, 1L, 1L)
                .then(() -> assertThat(reservation().accrued).containsExactly(11L))
                .then(() -> reservation().charged())
                .then(() -> assertThat(reservation().accrued).containsExactly(11L, 13L))
                .then(source::complete)
                .verifyComplete();
        assertThat(reservation().settled).containsExactly(13L);
        reservation().charged();
        assertThat(reservation().accrued).hasSize(2);
    }

    @Test
    void costThatFailsEndsTheStreamAndSettlesWhatWasPassedOn() {
        List<Object> discarded = new ArrayList<>();
        StepVerifier.create(charged(spec -> spec.chargeElements(cost -> 5 - cost))
                        .contextWrite(
                                context -> reactor.core.publisher.Operators.enableOnDiscard(context, discarded::add)))
                .expectSubscription()
                .then(() -> limiter.add(10))
                .then(() -> source.next(3L, 6L))
                .expectNext(3L)
                .verifyErrorMessage("cost must not be negative, was -1");
        assertThat(reservation().settled).containsExactly(2L);
        assertThat(discarded).contains(6L);
        source.assertCancelled();
    }

    @Test
    void deniedSubscriptionFailsIsDroppedOrReplacedAndNothingIsCharged() {
        StepVerifier.create(charged(LimitSpec::reject)).verifyError(RateLimitExceededException.class);
        StepVerifier.create(charged(LimitSpec::drop)).verifyComplete();
        StepVerifier.create(charged(spec -> spec.fallback(denied -> Flux.just(1L, 2L))))
                .expectNext(1L, 2L)
                .verifyComplete();
        assertThat(limiter.reservations).isEmpty();
        source.assertWasNotSubscribed();
    }

    @Test
    void monoIsSettledWhenItsValueIsThere() {
        limiter.add(10);
        PublisherProbe<Long> probe = PublisherProbe.of(Mono.just(4L));
        Mono<Long> mono =
                probe.mono().transform(limitRate(limiter, spec -> spec.cost(10).chargeElements(cost -> cost)));
        StepVerifier.create(
                        mono.doOnNext(value -> assertThat(reservation().settled).containsExactly(4L)))
                .expectNext(4L)
                .verifyComplete();
        assertThat(reservation().settled).hasSize(1);
    }

    @Test
    void keyAndEstimateComeFromTheContext() {
        limiter.add(7);
        StepVerifier.create(Flux.just(1L)
                        .transform(RateLimitOperators.<Long>limitRate(
                                limiter,
                                spec -> spec.keyFromContext(context -> context.get("tenant"))
                                        .costFromContext(context -> context.get("estimate"))
                                        .chargeElements(element -> 1)))
                        .contextWrite(Context.of("tenant", "t", "estimate", 7L)))
                .expectNext(1L)
                .verifyComplete();
        assertThat(reservation().decision().debit().orElseThrow().key()).isEqualTo("t");
        assertThat(reservation().estimate()).isEqualTo(7);
        assertThat(reservation().settled).containsExactly(1L);
    }

    @Test
    void operatorIsScannable() {
        limiter.add(10);
        Flux<Long> flux = charged(spec -> spec);
        assertThat(Scannable.from(flux).scan(Scannable.Attr.PARENT)).isNotNull();
        assertThat(Scannable.from(flux).scan(Scannable.Attr.RUN_STYLE)).isEqualTo(Scannable.Attr.RunStyle.ASYNC);
    }

    @Test
    void policiesThatCannotBeSettledAreRefused() {
        RateLimiter leaky = RateLimiter.of(LeakyBucket.perSecond(1));
        assertThatThrownBy(() -> limitRate(leaky, spec -> spec.chargeElements(element -> 1)))
                .isInstanceOf(IllegalArgumentException.class);
        RateLimiter concurrency = RateLimiter.of(ConcurrencyLimit.of(1));
        assertThatThrownBy(() -> limitRate(concurrency, spec -> spec.chargeElements(element -> 1)))
                .isInstanceOf(IllegalArgumentException.class);
    }
}
