package io.github.reactorratelimit.webflux.client;

import static io.github.reactorratelimit.webflux.client.FakeServer.GET;
import static io.github.reactorratelimit.webflux.client.FakeServer.answer;
import static java.time.Duration.ofDays;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofNanos;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.retry.RateLimitRetry;
import io.github.reactorratelimit.webflux.testing.Rules;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.core.io.buffer.DefaultDataBufferFactory;
import org.springframework.http.HttpStatusCode;
import org.springframework.web.reactive.function.client.ClientResponse;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;
import reactor.test.publisher.TestPublisher;
import reactor.test.scheduler.VirtualTimeScheduler;

/** A refusal whose body does not end: what nobody wants is read a little, and for a moment. */
class EndlessRefusalTest {

    private static final RateLimitRetry BRISK = RateLimitRetry.atMost(1).withBackoff(ofNanos(1), ofNanos(1));
    private static final int PIECE = 1_024;

    private final TestPublisher<DataBuffer> body = TestPublisher.create();
    private final List<ClientResponse> answers = new ArrayList<>();
    private VirtualTimeScheduler time;
    private FakeServer server;

    @BeforeEach
    void stopTheClock() {
        time = VirtualTimeScheduler.getOrSet();
        server = new FakeServer(number -> Mono.just(number == 0 ? refusal() : answer(200)));
    }

    @AfterEach
    void letTheClockGo() {
        VirtualTimeScheduler.reset();
    }

    private ClientResponse refusal() {
        return ClientResponse.create(HttpStatusCode.valueOf(503))
                .header("Retry-After", "30")
                .body(body.flux())
                .build();
    }

    private static RateLimiter plenty() {
        return RateLimiter.of(TokenBucket.of(1_000_000, ofDays(360)));
    }

    private Disposable call(RateLimitExchangeFilter filter) {
        return filter.withRetry(BRISK).filter(GET, server).subscribe(answers::add);
    }

    private void come(int pieces) {
        for (int i = 0; i < pieces; i++) {
            body.next(DefaultDataBufferFactory.sharedInstance.wrap(new byte[PIECE]));
        }
    }

    @Test
    void shortOneIsReadToItsEndSoThatTheConnectionCanBeUsedAgain() {
        call(RateLimitExchangeFilter.of(plenty()));
        come(3);
        body.complete();
        time.advanceTimeBy(ofMinutes(1));

        body.assertWasSubscribed();
        body.assertNotCancelled();
        assertThat(answers).hasSize(1);
    }

    @Test
    void oneThatDoesNotEndInTimeIsGivenUp() {
        call(RateLimitExchangeFilter.of(plenty()));
        time.advanceTimeBy(DiscardedBody.LONGEST.minusNanos(1));
        body.assertNotCancelled();
        time.advanceTimeBy(ofNanos(1));

        body.assertCancelled();
    }

    @Test
    void oneThatIsTooLongIsGivenUpAndNoMoreOfItIsCharged() {
        RateLimiter limiter = plenty();
        call(RateLimitExchangeFilter.of(limiter, spec -> spec.withoutLearning().chargeBytes()));
        int most = DiscardedBody.MOST_BYTES / PIECE;
        come(most - 1);
        body.assertNotCancelled();
        come(1);

        body.assertCancelled();
        assertThat(Rules.left(limiter, FakeServer.KEY)).isEqualTo(1_000_000 - DiscardedBody.MOST_BYTES);
    }

    @Test
    void callerThatLeavesGivesItUpAtOnce() {
        Disposable call = call(RateLimitExchangeFilter.of(plenty()));
        body.assertNotCancelled();
        call.dispose();

        body.assertCancelled();
    }

    @Test
    void itsRetryGetsThePermitThatItHeld() {
        RateLimiter one = RateLimiter.of(ConcurrencyLimit.of(1));
        call(RateLimitExchangeFilter.of(one));
        time.advanceTimeBy(ofMinutes(1));

        body.assertCancelled();
        assertThat(answers).hasSize(1);
        assertThat(server.arrivalsMillis()).containsExactly(0L, 30_000L);
    }

    @Test
    void answerThatDoesNotSayWhatItCostIsGivenUpToo() {
        List<Throwable> failures = new ArrayList<>();
        RateLimitExchangeFilter.of(plenty(), spec -> spec.cost(5).charge(answer -> -1))
                .filter(GET, server)
                .subscribe(answers::add, failures::add);
        assertThat(failures).hasSize(1);
        body.assertNotCancelled();
        time.advanceTimeBy(DiscardedBody.LONGEST);

        body.assertCancelled();
    }
}
