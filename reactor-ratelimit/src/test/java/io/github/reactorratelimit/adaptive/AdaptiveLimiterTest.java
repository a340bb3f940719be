package io.github.reactorratelimit.adaptive;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.DirectLimiter;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.RateLimitExceededException;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterClosedException;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.micrometer.AdaptiveGauges;
import io.github.reactorratelimit.operator.RateLimitOperators;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.test.StepVerifier;
import reactor.test.scheduler.VirtualTimeScheduler;

class AdaptiveLimiterTest {

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final AdaptiveRate rate = AdaptiveRate.aimd(5, 500, ofSeconds(1))
            .withInitial(100)
            .withAdaptation(Adaptation.aimd().withToleratedOverload(0));

    @AfterEach
    void endTime() {
        time.dispose();
    }

    private AdaptiveLimiter limiter(AdaptivePolicy policy) {
        return AdaptiveLimiter.builder(policy).scheduler(time).build();
    }

    @Test
    void callsLeaveEvenlySpacedAtTheLimit() {
        AdaptiveLimiter limiter = limiter(rate);
        AtomicInteger sent = new AtomicInteger();
        Disposable calls = Flux.range(0, 50)
                .flatMap(i -> Mono.fromRunnable(sent::incrementAndGet).transform(limiter.limitCalls()))
                .subscribe();
        assertThat(sent).hasValue(1);
        time.advanceTimeBy(ofMillis(95));
        assertThat(sent).hasValue(10);
        calls.dispose();
    }

    @Test
    void refusalLowersTheLimitOfThoseWhoWait() {
        AdaptiveLimiter limiter = limiter(rate);
        List<Long> sentAtMillis = new ArrayList<>();
        Sinks.One<Integer> first = Sinks.one();
        first.asMono().transform(limiter.limitCalls()).onErrorComplete().subscribe();
        Disposable waiting = Flux.range(0, 3)
                .flatMap(i -> Mono.fromRunnable(
                                () -> sentAtMillis.add(time.now(java.util.concurrent.TimeUnit.MILLISECONDS)))
                        .transform(limiter.limitCalls()))
                .subscribe();
        first.tryEmitError(new IOException("connection reset")).orThrow();

        assertThat(limiter.currentLimit()).isEqualTo(90);
        assertThat(limiter.currentPolicy()).isEqualTo(LeakyBucket.perSecond(90));
        assertThat(limiter.sinceLastOverload()).contains(Duration.ZERO);
        time.advanceTimeBy(ofSeconds(1));
        assertThat(sentAtMillis).containsExactly(11L, 22L, 33L);
        assertThat(limiter.sinceLastOverload()).contains(ofSeconds(1));
        waiting.dispose();
    }

    @Test
    void whatWaitsLongerThanItMayIsDeniedAndWasNotSent() {
        AdaptiveLimiter limiter = limiter(rate);
        AtomicInteger sent = new AtomicInteger();
        Mono<Integer> call = Mono.fromCallable(sent::incrementAndGet);
        StepVerifier.create(call.transform(limiter.limitCalls(Duration.ZERO)))
                .expectNext(1)
                .verifyComplete();
        StepVerifier.create(call.transform(limiter.limitCalls(Duration.ZERO)))
                .verifyError(RateLimitExceededException.class);
        StepVerifier.create(call.transform(limiter.limitCalls(ofMillis(9))))
                .verifyError(RateLimitExceededException.class);
        assertThat(sent).hasValue(1);
        assertThat(limiter.inFlight()).isZero();
        assertThat(limiter.sinceLastOverload()).isEmpty();
        assertThatIllegalArgumentException().isThrownBy(() -> limiter.limitCalls(ofMillis(-1)));
    }

    @Test
    void denialOfAnotherLimiterIsNotTheWordOfTheDownstream() {
        AdaptiveLimiter limiter = AdaptiveLimiter.builder(rate)
                .scheduler(time)
                .overloadWhen(any -> true)
                .build();
        RateLimiter shared =
                RateLimiter.builder(TokenBucket.perSecond(1)).scheduler(time).build();
        DirectLimiter.of(shared).tryAcquireNow("k", 1);
        Mono<Integer> call = Mono.just(1)
                .transform(RateLimitOperators.limitRate(
                        shared, spec -> spec.key("k").reject()))
                .transform(limiter.limitCalls());
        StepVerifier.create(call).verifyError(RateLimitExceededException.class);
        assertThat(limiter.currentLimit()).isEqualTo(100);
        assertThat(limiter.sinceLastOverload()).isEmpty();
    }

    @Test
    void failuresAreReadAsTold() {
        for (Throwable failure : List.of(new TimeoutException(), new IOException())) {
            assertThat(limitAfter(failure, limiter(rate)))
                    .as(failure.toString())
                    .isEqualTo(90);
        }
        assertThat(limitAfter(new IllegalArgumentException(), limiter(rate))).isEqualTo(100);
        AdaptiveLimiter told = AdaptiveLimiter.builder(rate)
                .scheduler(time)
                .overloadWhen(IllegalArgumentException.class::isInstance)
                .build();
        assertThat(limitAfter(new IOException(), told)).isEqualTo(100);
        time.advanceTimeBy(ofSeconds(1));
        assertThat(limitAfter(new IllegalArgumentException(), told)).isEqualTo(90);
    }

    private static long limitAfter(Throwable failure, AdaptiveLimiter limiter) {
        StepVerifier.create(Mono.error(failure).transform(limiter.limitCalls())).verifyError(failure.getClass());
        return limiter.currentLimit();
    }

    @Test
    void valuesAreReadAsTold() {
        AdaptiveLimiter limiter = AdaptiveLimiter.builder(rate)
                .scheduler(time)
                .valueOutcome(status -> status.equals(429) ? CallOutcome.OVERLOAD : CallOutcome.SUCCESS)
                .build();
        StepVerifier.create(Mono.just(429).transform(limiter.limitCalls()))
                .expectNext(429)
                .verifyComplete();
        assertThat(limiter.currentLimit()).isEqualTo(90);
    }

    @Test
    void cancelledCallIsNoLongerInFlightAndSaysNothing() {
        AdaptiveLimiter limiter = limiter(rate);
        Disposable call = Mono.never().transform(limiter.limitCalls()).subscribe();
        assertThat(limiter.inFlight()).isEqualTo(1);
        call.dispose();
        assertThat(limiter.inFlight()).isZero();
        assertThat(limiter.currentLimit()).isEqualTo(100);
    }

    @Test
    void latencyOfAStreamIsThatOfItsFirstElementAndItsFailureStillCounts() {
        AdaptiveLimiter limiter = limiter(rate.withAdaptation(
                Adaptation.gradient().withWindow(ofMillis(1), 1).withToleratedOverload(0)));
        Sinks.Many<Integer> stream = Sinks.many().unicast().onBackpressureBuffer();
        List<Integer> seen = new ArrayList<>();
        stream.asFlux().transform(limiter.limitCalls()).onErrorComplete().subscribe(seen::add);
        time.advanceTimeBy(ofMillis(7));
        stream.tryEmitNext(1).orThrow();
        assertThat(limiter.baselineLatency()).contains(ofMillis(7));
        assertThat(limiter.inFlight()).isEqualTo(1);
        time.advanceTimeBy(ofSeconds(5));
        stream.tryEmitNext(2).orThrow();
        stream.tryEmitError(new IOException("reset")).orThrow();
        assertThat(seen).containsExactly(1, 2);
        assertThat(limiter.inFlight()).isZero();
        assertThat(limiter.sinceLastOverload()).contains(Duration.ZERO);
    }

    @Test
    void concurrencyIsHeldUntilCallsEndAndFollowsTheLimit() {
        AdaptiveLimiter limiter = limiter(AdaptiveConcurrency.aimd(1, 100)
                .withInitial(10)
                .withAdaptation(Adaptation.aimd().withToleratedOverload(0)));
        List<Sinks.One<Integer>> sent = new ArrayList<>();
        Disposable calls = Flux.range(0, 30)
                .flatMap(i -> Mono.defer(() -> {
                            Sinks.One<Integer> answer = Sinks.one();
                            sent.add(answer);
                            return answer.asMono();
                        })
                        .transform(limiter.limitCalls())
                        .onErrorComplete())
                .subscribe();
        time.advanceTimeBy(Duration.ZERO);
        assertThat(sent).hasSize(10);
        sent.get(0).tryEmitError(new TimeoutException()).orThrow();
        time.advanceTimeBy(Duration.ZERO);
        assertThat(limiter.currentPolicy()).isEqualTo(ConcurrencyLimit.of(9));
        assertThat(sent).as("9 are in flight, 9 are allowed").hasSize(10);
        sent.get(1).tryEmitValue(1).orThrow();
        time.advanceTimeBy(Duration.ZERO);
        assertThat(sent).hasSize(11);
        calls.dispose();
        assertThat(limiter.inFlight()).isZero();
    }

    @Test
    void eachSubscriptionIsACallOfItsOwn() {
        AdaptiveLimiter limiter = limiter(rate);
        AtomicInteger sent = new AtomicInteger();
        Mono<Integer> call = Mono.fromCallable(sent::incrementAndGet).transform(limiter.limitCalls());
        assertThat(sent).as("nothing before subscription").hasValue(0);
        Disposable both = call.repeat(1).subscribe();
        assertThat(sent).hasValue(1);
        time.advanceTimeBy(ofMillis(10));
        assertThat(sent).hasValue(2);
        both.dispose();
    }

    @Test
    void closingEndsWaitsAndLaterLimitsAreNobodysBusiness() {
        AdaptiveLimiter limiter = limiter(rate);
        Sinks.One<Integer> inFlight = Sinks.one();
        inFlight.asMono().transform(limiter.limitCalls()).onErrorComplete().subscribe();
        List<Throwable> ends = new ArrayList<>();
        Mono.just(1).transform(limiter.limitCalls()).subscribe(value -> {}, ends::add);
        limiter.dispose();
        time.advanceTimeBy(Duration.ZERO);
        assertThat(ends).singleElement().isInstanceOf(RateLimiterClosedException.class);
        inFlight.tryEmitError(new IOException()).orThrow();
        assertThat(limiter.currentLimit()).isEqualTo(90);
        assertThat(limiter.isDisposed()).isTrue();
    }

    @Test
    void stateIsShownAsGauges() {
        SimpleMeterRegistry registry = new SimpleMeterRegistry();
        AdaptiveLimiter limiter =
                AdaptiveLimiter.builder(rate).scheduler(time).name("exchange").build();
        AdaptiveGauges.register(registry, limiter);
        assertThat(gauge(registry, AdaptiveGauges.LIMIT)).isEqualTo(100);
        assertThat(gauge(registry, AdaptiveGauges.BASELINE_LATENCY)).isNaN();
        assertThat(gauge(registry, AdaptiveGauges.SINCE_OVERLOAD)).isNaN();
        Disposable call = Mono.never().transform(limiter.limitCalls()).subscribe();
        assertThat(gauge(registry, AdaptiveGauges.IN_FLIGHT)).isEqualTo(1);
        time.advanceTimeBy(ofSeconds(1));
        limitAfter(new IOException(), limiter);
        time.advanceTimeBy(ofSeconds(2));
        assertThat(gauge(registry, AdaptiveGauges.LIMIT)).isEqualTo(90);
        assertThat(gauge(registry, AdaptiveGauges.SINCE_OVERLOAD)).isEqualTo(2);
        call.dispose();
    }

    private static double gauge(SimpleMeterRegistry registry, String name) {
        return registry.get(name).tag("limiter", "exchange").gauge().value();
    }

    @Test
    void boundsAreChecked() {
        Duration second = ofSeconds(1);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> AdaptiveRate.aimd(0, 5, second))
                .withMessageContaining("floor");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> AdaptiveRate.aimd(6, 5, second))
                .withMessageContaining("ceiling");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> AdaptiveRate.aimd(1, 5, Duration.ZERO))
                .withMessageContaining("period");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> AdaptiveRate.aimd(1, 5, second).withInitial(6))
                .withMessageContaining("initial");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> AdaptiveRate.aimd(1, 5, second).withBurst(0))
                .withMessageContaining("burst");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> AdaptiveConcurrency.gradient(0, 5))
                .withMessageContaining("floor");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Adaptation.gradient().withLatencyTolerance(1))
                .withMessageContaining("latencyTolerance");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Adaptation.aimd().withToleratedOverload(1))
                .withMessageContaining("toleratedOverload");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Adaptation.aimd().withWindow(second, 0))
                .withMessageContaining("samples");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Adaptation.aimd().withSlowCalls(Duration.ZERO))
                .withMessageContaining("slowCalls");
    }
}
