package io.github.reactorratelimit.operator;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.RateLimitExceededException;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.Drops;
import io.github.reactorratelimit.testing.ExpectsDrops;
import java.time.Duration;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.test.StepVerifier;

/** Calls that are charged by how they end. */
class ChargeWhenTest {

    private static final long LIMIT = 5;

    private final RateLimiter limiter = RateLimiter.of(TokenBucket.of(LIMIT, Duration.ofDays(366)));

    private <T> Mono<T> call(Mono<T> work, UnaryOperator<LimitSpec<T>> spec) {
        return work.transform(
                limitRate(limiter, chosen -> spec.apply(chosen.key("k").reject())));
    }

    private static Mono<String> failing() {
        return Mono.error(new IllegalStateException("boom"));
    }

    private long spent() {
        return LIMIT - limiter.peek("k").block().remaining();
    }

    @Test
    void onlyFailuresCount() {
        for (int i = 0; i < 20; i++) {
            StepVerifier.create(call(Mono.just("in"), LimitSpec::chargeOnError))
                    .expectNext("in")
                    .verifyComplete();
        }
        StepVerifier.create(call(Mono.<String>empty(), LimitSpec::chargeOnError))
                .verifyComplete();
        assertThat(spent()).isZero();
        for (int i = 0; i < LIMIT; i++) {
            StepVerifier.create(call(failing(), LimitSpec::chargeOnError)).verifyErrorMessage("boom");
        }
        assertThat(spent()).isEqualTo(LIMIT);
        StepVerifier.create(call(Mono.just("in"), LimitSpec::chargeOnError))
                .verifyError(RateLimitExceededException.class);
    }

    @Test
    void onlyFailuresThatCountAreCharged() {
        UnaryOperator<LimitSpec<String>> spec =
                chosen -> chosen.chargeOnError(failure -> failure instanceof IllegalArgumentException);
        StepVerifier.create(call(failing(), spec)).verifyError();
        assertThat(spent()).isZero();
        StepVerifier.create(call(Mono.error(new IllegalArgumentException("bad")), spec))
                .verifyError();
        assertThat(spent()).isEqualTo(1);
    }

    @Test
    void onlySuccessesCount() {
        StepVerifier.create(call(failing(), LimitSpec::chargeOnSuccess)).verifyError();
        assertThat(spent()).isZero();
        call(Mono.just("in"), LimitSpec::chargeOnSuccess).block();
        assertThat(spent()).isEqualTo(1);
    }

    @Test
    void resultSaysWhatItCosts() {
        UnaryOperator<LimitSpec<String>> bySize =
                spec -> spec.charge(ended -> ended.value().map(String::length).orElse(0));
        call(Mono.just("abc"), bySize).block();
        assertThat(spent()).isEqualTo(3);
        call(Mono.<String>empty(), bySize).block();
        assertThat(spent()).isEqualTo(3);
    }

    @Test
    void callsAtTheSameTimeCannotAllSlipThrough() {
        Sinks.Empty<String> outcome = Sinks.empty();
        long denied = Flux.range(0, 20)
                .flatMap(i -> call(outcome.asMono(), LimitSpec::chargeOnError)
                        .doFirst(() -> {})
                        .materialize())
                .filter(signal -> signal.getThrowable() instanceof RateLimitExceededException)
                .take(20 - LIMIT)
                .count()
                .block(Duration.ofSeconds(10));
        assertThat(denied).isEqualTo(20 - LIMIT);
    }

    @Test
    void cancelledCallStaysChargedUnlessToldOtherwise() {
        call(Mono.<String>never(), LimitSpec::chargeOnError).subscribe().dispose();
        call(Mono.<String>never(), LimitSpec::chargeOnSuccess).subscribe().dispose();
        assertThat(spent()).isEqualTo(2);
        call(Mono.<String>never(), spec -> spec.chargeOnError().giveBackOnCancel())
                .subscribe()
                .dispose();
        call(Mono.<String>never(), spec -> spec.giveBackOnCancel().charge(ended -> 3))
                .subscribe()
                .dispose();
        assertThat(spent()).isEqualTo(2);
    }

    @Test
    void subscriptionOfAFluxIsChargedByItsElements() {
        Flux<Integer> flux = Flux.range(0, 3)
                .transform(limitRate(
                        limiter, spec -> spec.key("k").perSubscription().charge(Outcome::elements)));
        StepVerifier.create(flux).expectNextCount(3).verifyComplete();
        assertThat(spent()).isEqualTo(3);
    }

    @Test
    void chargeMayExceedWhatWasReserved() {
        call(Mono.just("in"), spec -> spec.cost(2).charge(ended -> 3 * ended.reserved()))
                .block();
        assertThat(limiter.peek("k").block().allowed()).isFalse();
        assertThat(limiter.peek("k").block().remaining()).isZero();
    }

    @Test
    void functionThatFailsFailsTheCallAndLeavesItCharged() {
        UnaryOperator<LimitSpec<String>> broken = spec -> spec.charge(ended -> -1);
        StepVerifier.create(call(Mono.just("in"), broken)).verifyErrorMessage("charge must not be negative, was -1");
        StepVerifier.create(call(Mono.<String>empty(), broken))
                .verifyErrorMessage("charge must not be negative, was -1");
        StepVerifier.create(call(failing(), broken))
                .verifyErrorSatisfies(failure -> assertThat(failure)
                        .hasMessage("boom")
                        .hasSuppressedException(new IllegalArgumentException("charge must not be negative, was -1")));
        assertThat(spent()).isEqualTo(3);
    }

    @Test
    @ExpectsDrops
    void functionThatFailsForACancelledCallIsReported() {
        call(Mono.<String>never(), spec -> spec.charge(ended -> -1)).subscribe().dispose();
        assertThat(spent()).isEqualTo(1);
        assertThat(Drops.take()).hasSize(1);
    }

    @Test
    void contradictionsAreRefused() {
        assertThatThrownBy(() -> Flux.just(1).transform(limitRate(limiter, LimitSpec::chargeOnError)))
                .hasMessageContaining("perSubscription()");
        assertThatThrownBy(() -> RateLimitOperators.<Integer>limitRate(limiter, LimitSpec::giveBackOnCancel))
                .hasMessageContaining("giveBackOnCancel()");
        RateLimiter concurrency = RateLimiter.of(ConcurrencyLimit.of(1));
        assertThatThrownBy(() -> RateLimitOperators.<Integer>limitRate(concurrency, LimitSpec::chargeOnError))
                .hasMessageContaining("settled");
    }
}
