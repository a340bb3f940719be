package io.github.reactorratelimit.webflux.client;

import static io.github.reactorratelimit.webflux.client.FakeServer.GET;
import static io.github.reactorratelimit.webflux.client.FakeServer.KEY;
import static io.github.reactorratelimit.webflux.client.FakeServer.answer;
import static java.time.Duration.ofHours;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.Lease;
import io.github.reactorratelimit.RateLimitExceededException;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.webflux.testing.Rules;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.web.reactive.function.client.ClientResponse;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Mono;
import reactor.test.publisher.TestPublisher;

/** A caller that leaves at the moment when its turn comes: nothing of what its call had is lost, or comes back twice. */
class PermitHoldingExchangeRaceTest {

    private static final int ROUNDS = Boolean.getBoolean("ratelimit.tests.full") ? 20_000 : 500;
    private static final Duration PATIENCE = Duration.ofMinutes(1);

    private final ExecutorService other = Executors.newSingleThreadExecutor();
    private final FakeServer server = FakeServer.saying(answer(200));

    @AfterEach
    void stop() {
        other.shutdownNow();
    }

    /** Releases the answer if there is one. */
    private static final class Reader extends BaseSubscriber<ClientResponse> {
        @Override
        protected void hookOnNext(ClientResponse answer) {
            answer.releaseBody().subscribe();
        }
    }

    private void race(Mono<?> turn, Reader caller) throws Exception {
        CyclicBarrier start = new CyclicBarrier(2);
        Future<?> turned = other.submit(() -> {
            start.await();
            return turn.block(PATIENCE);
        });
        start.await();
        caller.cancel();
        turned.get();
    }

    private static boolean isFree(RateLimiter limiter) {
        return limiter.acquireLease(KEY, 1, Duration.ZERO)
                .flatMap(lease -> lease.release().thenReturn(true))
                .onErrorReturn(RateLimitExceededException.class, false)
                .blockOptional(PATIENCE)
                .orElseThrow();
    }

    /** As {@code WebClient} does, which makes an error of an exchange without an answer. */
    @Test
    void callerThatLeftBeforeItsTurnIsToldNothing() {
        RateLimiter limiter = RateLimiter.of(ConcurrencyLimit.of(1));
        Lease lease = limiter.acquireLease(KEY, 1, PATIENCE).block(PATIENCE);
        TestPublisher<Lease> late = TestPublisher.createNoncompliant(TestPublisher.Violation.CLEANUP_ON_TERMINATE);
        List<String> told = new ArrayList<>();
        Reader caller = new Reader();
        PermitHoldingExchange.of(late.mono(), LeasedPermit::new, Mono.just(answer(200)))
                .doOnEach(signal -> told.add(signal.toString()))
                .subscribe(caller);

        caller.cancel();
        late.next(lease);

        assertThat(told).isEmpty();
        assertThat(isFree(limiter)).isTrue();
    }

    @Test
    void permitInFlightIsNeverLost() throws Exception {
        RateLimiter limiter = RateLimiter.of(ConcurrencyLimit.of(1));
        RateLimitExchangeFilter filter = RateLimitExchangeFilter.of(limiter);
        for (int round = 0; round < ROUNDS; round++) {
            Lease held = limiter.acquireLease(KEY, 1, PATIENCE).block(PATIENCE);
            Reader caller = new Reader();
            filter.filter(GET, server).subscribe(caller);

            race(held.release(), caller);

            Await.until("the permit is back", () -> isFree(limiter));
        }
    }

    @Test
    void whatWasReservedComesBackOnce() throws Exception {
        RateLimiter limiter = RateLimiter.of(TokenBucket.of(1_000, ofHours(1_000)));
        RateLimitExchangeFilter filter =
                RateLimitExchangeFilter.of(limiter, spec -> spec.cost(10).chargeBytes());
        for (int round = 0; round < ROUNDS; round++) {
            limiter.pause(KEY, ofHours(1)).block(PATIENCE);
            Reader caller = new Reader();
            filter.filter(GET, server).subscribe(caller);

            race(limiter.pause(KEY, Duration.ZERO), caller);

            Await.until("all is back", () -> Rules.left(limiter, KEY) == 1_000);
        }
        assertThat(Rules.left(limiter, KEY)).isEqualTo(1_000);
    }
}
