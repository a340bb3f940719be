package io.github.reactorratelimit.retry;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofNanos;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.PermitsExceedCapacityException;
import io.github.reactorratelimit.RateLimitContext;
import io.github.reactorratelimit.RateLimitExceededException;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterClosedException;
import io.github.reactorratelimit.TokenBucket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import reactor.core.Exceptions;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;
import reactor.test.scheduler.VirtualTimeScheduler;

class RateLimitRetryTest {

    private static final RateLimitRetry LONGEST_WAITS = RateLimitRetry.atMost(3).withRandom(bound -> bound - 1);

    /** Counts how often it is called, and when. */
    private static final class Failing {

        private final List<Long> atMillis = new ArrayList<>();
        private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
        private final RuntimeException failure = new IllegalStateException("down");

        Mono<String> call(RateLimitRetry retry) {
            return Mono.<String>defer(() -> {
                        atMillis.add(time.now(TimeUnit.MILLISECONDS));
                        return Mono.error(failure);
                    })
                    .retryWhen(retry.withScheduler(time));
        }
    }

    @Test
    void theLongestWaitDoublesUpToABound() {
        Failing failing = new Failing();
        RateLimitRetry retry = RateLimitRetry.atMost(5)
                .withBackoff(ofMillis(100), ofMillis(500))
                .withRandom(bound -> bound - 1);

        failing.call(retry).onErrorComplete().subscribe();
        failing.time.advanceTimeBy(ofSeconds(10));

        assertThat(failing.atMillis).containsExactly(0L, 100L, 300L, 700L, 1_200L, 1_700L);
    }

    @Test
    void anyTimeUpToTheLongestIsPossible() {
        Failing failing = new Failing();
        List<Long> bounds = new ArrayList<>();

        failing.call(RateLimitRetry.atMost(2).withRandom(bound -> {
                    bounds.add(bound);
                    return 0;
                }))
                .onErrorComplete()
                .subscribe();
        failing.time.advanceTime();

        assertThat(failing.atMillis).containsExactly(0L, 0L, 0L);
        assertThat(bounds)
                .containsExactly(ofMillis(100).toNanos() + 1, ofMillis(200).toNanos() + 1);
    }

    @Test
    void waitsUntilTheLimiterSaysAndThenTheBackoff() {
        StepVerifier.withVirtualTime(() -> {
                    RateLimiter limiter = RateLimiter.of(TokenBucket.of(1, ofSeconds(3)));
                    Mono<String> call = Mono.just("done")
                            .transform(limitRate(
                                    limiter, spec -> spec.key("quotes").reject()));
                    return call.then(call.retryWhen(LONGEST_WAITS));
                })
                .expectSubscription()
                .expectNoEvent(ofSeconds(3).plus(ofMillis(100)).minus(ofNanos(1)))
                .thenAwait(ofNanos(1))
                .expectNext("done")
                .verifyComplete();
    }

    @Test
    void otherFailuresMayNameATimeToo() {
        Failing failing = new Failing();

        failing.call(LONGEST_WAITS.withRetryAfter(failure -> Optional.of(ofSeconds(2))))
                .onErrorComplete()
                .subscribe();
        failing.time.advanceTimeBy(ofSeconds(100));

        assertThat(failing.atMillis).containsExactly(0L, 2_100L, 4_300L, 6_700L);
    }

    @Test
    void aTimeInThePastIsNow() {
        Failing failing = new Failing();

        failing.call(LONGEST_WAITS.withRetryAfter(failure -> Optional.of(ofSeconds(-5))))
                .onErrorComplete()
                .subscribe();
        failing.time.advanceTimeBy(ofMillis(100));

        assertThat(failing.atMillis).containsExactly(0L, 100L);
    }

    @Test
    void isNotTriedAgainIfTheTimeIsTooFarAway() {
        Failing failing = new Failing();
        RateLimitRetry retry = LONGEST_WAITS
                .withMaxRetryAfter(ofSeconds(5))
                .withRetryAfter(failure -> Optional.of(ofSeconds(5).plusNanos(1)));

        StepVerifier.create(failing.call(retry))
                .verifyErrorSatisfies(error -> assertThat(error).isSameAs(failing.failure));
        assertThat(failing.atMillis).hasSize(1);
    }

    @Test
    void isNotTriedAgainIfTheTimeLiesBeyondTheDeadlineInTheContext() {
        Failing failing = new Failing();
        RetryBudget budget = RetryBudget.ofShare(1).withAtLeastPerSecond(0);
        for (int others = 0; others < 9; others++) {
            budget.called();
        }
        List<Throwable> errors = new ArrayList<>();

        failing.call(LONGEST_WAITS.withBudget(budget))
                .contextWrite(RateLimitContext.deadline(ofMillis(300), failing.time))
                .subscribe(value -> {}, errors::add);
        failing.time.advanceTimeBy(ofMillis(299));
        assertThat(errors).isEmpty();
        failing.time.advanceTimeBy(ofMillis(1));

        assertThat(errors).containsExactly(failing.failure);
        assertThat(failing.atMillis).containsExactly(0L, 100L, 300L);
        assertThat(budget.kept())
                .as("of the retry that was not made nothing is taken")
                .isEqualTo(8);
    }

    @Test
    void deadlineThatHasPassedEndsRetriesWhateverTheWait() {
        Failing failing = new Failing();
        RateLimitRetry atOnce = RateLimitRetry.atMost(3).withRandom(bound -> 0);

        StepVerifier.create(failing.call(atOnce)
                        .delaySubscription(Duration.ofSeconds(2), failing.time)
                        .contextWrite(RateLimitContext.deadline(ofSeconds(1), failing.time)))
                .then(() -> failing.time.advanceTimeBy(ofSeconds(3)))
                .verifyErrorMessage("down");
        assertThat(failing.atMillis).hasSize(1);
    }

    @Test
    void deadlineWithoutEndEndsNoRetries() {
        Failing failing = new Failing();

        failing.call(LONGEST_WAITS)
                .contextWrite(RateLimitContext.deadline(Duration.ofSeconds(Long.MAX_VALUE), failing.time))
                .onErrorComplete()
                .subscribe();
        failing.time.advanceTimeBy(ofSeconds(100));

        assertThat(failing.atMillis).hasSize(4);
    }

    @Test
    void endsWithTheLastFailureItself() {
        Failing failing = new Failing();
        List<Throwable> errors = new ArrayList<>();

        failing.call(LONGEST_WAITS).subscribe(value -> {}, errors::add);
        failing.time.advanceTimeBy(ofSeconds(100));

        assertThat(errors).containsExactly(failing.failure);
        assertThat(failing.atMillis).hasSize(4);
    }

    @Test
    void triesAgainOnlyWhatEveryFilterLetsPass() {
        Failing failing = new Failing();
        RateLimitRetry retry = LONGEST_WAITS
                .filter(failure -> failure instanceof IllegalStateException)
                .filter(failure -> failure instanceof RateLimitExceededException);

        StepVerifier.create(failing.call(retry)).verifyErrorMessage("down");
        assertThat(failing.atMillis).hasSize(1);
    }

    @Test
    void aClosedLimiterIsNotAskedAgain() {
        AtomicInteger calls = new AtomicInteger();
        Mono<String> closed = Mono.defer(() -> {
            calls.incrementAndGet();
            return Mono.error(new RateLimiterClosedException("quotes"));
        });

        StepVerifier.create(closed.retryWhen(LONGEST_WAITS)).verifyError(RateLimiterClosedException.class);
        assertThat(calls).hasValue(1);
    }

    @Test
    void moreThanALimiterEverGivesIsNotAskedForAgain() {
        RateLimiter limiter = RateLimiter.of(TokenBucket.perSecond(5));
        AtomicInteger calls = new AtomicInteger();
        Mono<String> tooMuch = Mono.defer(() -> {
            calls.incrementAndGet();
            return limiter.tryAcquire("quotes", 6).map(Object::toString);
        });

        StepVerifier.create(tooMuch.retryWhen(LONGEST_WAITS)).verifyError(PermitsExceedCapacityException.class);
        assertThat(calls).hasValue(1);
    }

    @Test
    void fatalErrorsAreThrown() {
        Throwable fatal = Exceptions.bubble(new IllegalStateException("fatal"));

        assertThatThrownBy(() -> LONGEST_WAITS
                        .generateCompanion(Flux.just(new Signal(fatal)))
                        .subscribe(new reactor.core.publisher.BaseSubscriber<Object>() {}))
                .isSameAs(fatal);
    }

    private record Signal(Throwable failure) implements reactor.util.retry.Retry.RetrySignal {
        @Override
        public long totalRetries() {
            return 0;
        }

        @Override
        public long totalRetriesInARow() {
            return 0;
        }
    }

    @Test
    void whoCancelsWhileItWaitsIsNotTriedAgain() {
        Failing failing = new Failing();

        failing.call(LONGEST_WAITS).subscribe().dispose();
        failing.time.advanceTimeBy(ofSeconds(100));

        assertThat(failing.atMillis).hasSize(1);
    }

    @Test
    void waitsOfManyRetriesDoNotOverflow() {
        Duration longest = Duration.ofDays(366);
        Backoff backoff = Backoff.of(ofNanos(1), longest, bound -> bound - 1);

        for (long retries : new long[] {54, 55, 62, 63, 64, 1_000, Long.MAX_VALUE}) {
            assertThat(ofNanos(backoff.nanos(retries))).as("%d", retries).isLessThanOrEqualTo(longest);
        }
        assertThat(backoff.nanos(10)).isEqualTo(1_024);
        assertThat(backoff.nanos(Long.MAX_VALUE)).isEqualTo(longest.toNanos());
    }

    @Test
    void badArgumentsAreNamed() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RateLimitRetry.atMost(0))
                .withMessage("maxRetries must be positive, was 0");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> LONGEST_WAITS.withBackoff(ofSeconds(2), ofSeconds(1)))
                .withMessage("first must be at most max, but PT2S > PT1S");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> LONGEST_WAITS.withBackoff(ofSeconds(0), ofSeconds(1)))
                .withMessage("first must be positive and at most 366 days, was PT0S");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> LONGEST_WAITS.withMaxRetryAfter(ofSeconds(-1)))
                .withMessage("longest must be positive and at most 366 days, was PT-1S");
        assertThatNullPointerException()
                .isThrownBy(() -> LONGEST_WAITS.withBudget(null))
                .withMessage("shared");
        assertThatNullPointerException()
                .isThrownBy(() -> LONGEST_WAITS.filter(null))
                .withMessage("alsoRetried");
    }

    @Test
    void whoCannotUseRetryWhenIsToldTheSameWaits() {
        VirtualTimeScheduler time = VirtualTimeScheduler.create();
        RetryBudget budget = RetryBudget.ofShare(1).withAtLeastPerSecond(0);
        RateLimitRetry retry = LONGEST_WAITS.withScheduler(time).withBudget(budget);
        RuntimeException failure = new IllegalStateException("down");
        AtomicInteger waited = new AtomicInteger();

        RateLimitRetry.Course course = retry.begin();
        assertThat(budget.kept()).isEqualTo(1);
        retry.begin();
        for (int retries = 0; retries < 2; retries++) {
            course.afterFailure(failure).orElseThrow().subscribe(over -> waited.incrementAndGet());
            time.advanceTimeBy(ofMillis(100L << retries).minusNanos(1));
            assertThat(waited).hasValue(retries);
            time.advanceTimeBy(ofNanos(1));
            assertThat(waited).hasValue(retries + 1);
        }

        assertThat(budget.kept()).isZero();
        assertThat(course.afterFailure(failure)).as("the budget is spent").isEmpty();
        retry.begin();
        assertThat(course.afterFailure(failure)).as("no more than 3").isEmpty();
        assertThat(budget.kept()).isEqualTo(1);
    }
}
