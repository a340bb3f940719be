package io.github.reactorratelimit.retry;

import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;
import reactor.test.scheduler.VirtualTimeScheduler;

class RetryBudgetTest {

    @Test
    void retriesAreAShareOfTheCalls() {
        RetryBudget budget = RetryBudget.ofShare(0.1).withAtLeastPerSecond(0);
        AtomicInteger attempts = new AtomicInteger();
        Mono<Object> down = Mono.defer(() -> {
            attempts.incrementAndGet();
            return Mono.error(new IllegalStateException("down"));
        });
        VirtualTimeScheduler time = VirtualTimeScheduler.create();
        RateLimitRetry retry = RateLimitRetry.atMost(5)
                .withBudget(budget)
                .withRandom(bound -> 0)
                .withScheduler(time);

        for (int call = 0; call < 10_000; call++) {
            down.retryWhen(retry).onErrorComplete().subscribe();
            time.advanceTime();
        }

        assertThat(attempts).hasValue(11_000);
        assertThat(budget.refused()).isPositive();
    }

    @Test
    void whatIsNotUsedIsKeptUpToABound() {
        RetryBudget budget = RetryBudget.ofShare(1).withAtLeastPerSecond(0);
        for (int call = 0; call < 10 * RetryBudget.MOST_KEPT; call++) {
            budget.called();
        }

        assertThat(budget.kept()).isEqualTo(RetryBudget.MOST_KEPT);
        for (int retry = 0; retry < RetryBudget.MOST_KEPT; retry++) {
            assertThat(budget.tryRetry()).isTrue();
        }
        assertThat(budget.tryRetry()).isFalse();
        assertThat(budget.refused()).isEqualTo(1);
    }

    @Test
    void aFewAreAllowedWhateverTheTraffic() {
        StepVerifier.withVirtualTime(() -> {
                    RetryBudget budget = RetryBudget.ofShare(0.1).withAtLeastPerSecond(2);
                    return Flux.interval(ofSeconds(0), ofSeconds(1))
                            .map(second -> Flux.range(0, 5)
                                    .filter(attempt -> budget.tryRetry())
                                    .count())
                            .concatMap(count -> count)
                            .take(3);
                })
                .thenAwait(ofSeconds(2))
                .expectNext(2L, 2L, 2L)
                .verifyComplete();
    }

    @ParameterizedTest
    @ValueSource(doubles = {0, -0.1, 1.01, Double.NaN, Double.POSITIVE_INFINITY, 1e-9})
    void aShareThatIsNoneIsRefused(double share) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RetryBudget.ofShare(share))
                .withMessage("share must be above 0 and at most 1, was " + share);
    }

    @Test
    void fewerThanNoneEachSecondIsRefused() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RetryBudget.ofShare(1).withAtLeastPerSecond(-1))
                .withMessage("retries must not be negative, was -1");
    }
}
