package io.github.reactorratelimit.operator;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.RateLimitExceededException;
import io.github.reactorratelimit.RateLimiter;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.MonoSink;
import reactor.core.publisher.Sinks;
import reactor.test.StepVerifier;
import reactor.test.publisher.PublisherProbe;

/** Subscriptions that hold a permit of a ConcurrencyLimit while their work runs. */
class LeaseGateTest {

    private final PublisherProbe<String> monoSource = PublisherProbe.of(Mono.just("a"));

    @Test
    void leaseIsHeldWhileTheWorkRunsAndReleasedWhenItCompletes() {
        HandLimiter slots = HandLimiter.concurrency(1);
        Sinks.One<String> work = Sinks.one();
        StepVerifier.create(work.asMono().transform(limitRate(slots)))
                .expectSubscription()
                .then(() -> assertThat(slots.spent()).isOne())
                .then(() -> work.tryEmitValue("done"))
                .expectNext("done")
                .verifyComplete();
        assertThat(slots.spent()).isZero();
        assertThat(slots.refundCalls()).isOne();
    }

    @Test
    void leaseIsReleasedOnErrorAndOnCancelOnce() {
        HandLimiter slots = HandLimiter.concurrency(1);
        StepVerifier.create(Flux.error(new IllegalStateException("boom"))
                        .transform(limitRate(slots, LimitSpec::perSubscription)))
                .verifyErrorMessage("boom");
        assertThat(slots.refundCalls()).isOne();
        StepVerifier.create(Flux.never().transform(limitRate(slots, LimitSpec::perSubscription)))
                .expectSubscription()
                .then(() -> assertThat(slots.spent()).isOne())
                .thenCancel()
                .verify();
        assertThat(slots.refundCalls()).isEqualTo(2);
        assertThat(slots.spent()).isZero();
    }

    @Test
    void leaseIsReleasedWhenTheSourceThrowsOnSubscribe() {
        HandLimiter slots = HandLimiter.concurrency(1);
        Mono<String> broken = new Mono<>() {
            @Override
            public void subscribe(CoreSubscriber<? super String> actual) {
                throw new IllegalStateException("broken source");
            }
        };
        StepVerifier.create(broken.transform(limitRate(slots))).verifyErrorMessage("broken source");
        assertThat(slots.spent()).isZero();
        assertThat(slots.refundCalls()).isOne();
    }

    @Test
    void leaseThatComesAfterTheCancelIsReleased() {
        HandLimiter slots = new HandLimiter(ConcurrencyLimit.of(5), 0).deafToCancel();
        StepVerifier.create(monoSource.mono().transform(limitRate(slots)))
                .thenCancel()
                .verify();
        slots.add(1);
        monoSource.assertWasNotSubscribed();
        assertThat(slots.spent()).isZero();
    }

    @Test
    void leaseIsFreeAgainBeforeDownstreamHearsOfTheEnd() {
        RateLimiter one = RateLimiter.of(ConcurrencyLimit.of(1));
        List<MonoSink<String>> work = new ArrayList<>();
        StepVerifier.create(Mono.<String>create(work::add)
                        .transform(limitRate(one, LimitSpec::reject))
                        .repeat(2))
                .then(() -> work.get(0).success("a"))
                .expectNext("a")
                .then(() -> work.get(1).success())
                .then(() -> work.get(2).success("c"))
                .expectNext("c")
                .verifyComplete();
    }

    @Test
    void deniedLeaseFailsDropsOrFallsBack() {
        HandLimiter full = new HandLimiter(ConcurrencyLimit.of(5), 0);
        StepVerifier.create(monoSource.mono().transform(limitRate(full, LimitSpec::reject)))
                .verifyError(RateLimitExceededException.class);
        StepVerifier.create(monoSource.mono().transform(limitRate(full, LimitSpec::drop)))
                .verifyComplete();
        StepVerifier.create(monoSource
                        .mono()
                        .transform(limitRate(full, spec -> spec.fallback(d -> Mono.just("other")))))
                .expectNext("other")
                .verifyComplete();
        monoSource.assertWasNotSubscribed();
    }

    @Test
    void workInFlightNeverExceedsTheConcurrencyLimit() {
        AtomicInteger running = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        StepVerifier.withVirtualTime(() -> {
                    RateLimiter three = RateLimiter.of(ConcurrencyLimit.of(3));
                    return Flux.range(0, 30)
                            .flatMap(
                                    i -> Mono.delay(ofMillis(10))
                                            .doOnSubscribe(
                                                    s -> most.accumulateAndGet(running.incrementAndGet(), Math::max))
                                            .doOnTerminate(running::decrementAndGet)
                                            .transform(limitRate(three)),
                                    30);
                })
                .thenAwait(ofSeconds(1))
                .expectNextCount(30)
                .verifyComplete();
        assertThat(most).hasValue(3);
        assertThat(running).hasValue(0);
    }
}
