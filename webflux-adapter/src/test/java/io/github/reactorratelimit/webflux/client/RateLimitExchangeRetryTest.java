package io.github.reactorratelimit.webflux.client;

import static io.github.reactorratelimit.webflux.client.FakeServer.GET;
import static io.github.reactorratelimit.webflux.client.FakeServer.KEY;
import static io.github.reactorratelimit.webflux.client.FakeServer.answer;
import static java.time.Duration.ofHours;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofNanos;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.RateLimitContext;
import io.github.reactorratelimit.RateLimitExceededException;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.retry.RateLimitRetry;
import io.github.reactorratelimit.retry.RetryBudget;
import io.github.reactorratelimit.webflux.testing.Rules;
import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpMethod;
import org.springframework.http.HttpStatusCode;
import org.springframework.web.reactive.function.client.ClientRequest;
import org.springframework.web.reactive.function.client.ClientResponse;
import org.springframework.web.reactive.function.client.ExchangeFilterFunction;
import org.springframework.web.reactive.function.client.WebClientRequestException;
import org.springframework.web.reactive.function.client.WebClientResponseException;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;
import reactor.test.publisher.PublisherProbe;
import reactor.test.scheduler.VirtualTimeScheduler;

class RateLimitExchangeRetryTest {

    /** Next to no backoff: what is waited for is what was named. */
    private static final RateLimitRetry BRISK = RateLimitRetry.atMost(2).withBackoff(ofNanos(1), ofNanos(1));

    private VirtualTimeScheduler time;

    @BeforeEach
    void stopTheClock() {
        time = VirtualTimeScheduler.getOrSet();
    }

    @AfterEach
    void letTheClockGo() {
        VirtualTimeScheduler.reset();
    }

    private static RateLimiter plenty() {
        return RateLimiter.of(TokenBucket.of(100, ofHours(100)));
    }

    private static ClientRequest request(String method, boolean keyed) {
        ClientRequest.Builder request =
                ClientRequest.create(HttpMethod.valueOf(method), URI.create("http://api.example.com/path"));
        return (keyed ? request.header("Idempotency-Key", "8e03978e") : request).build();
    }

    private ClientResponse last(ExchangeFilterFunction filter, ClientRequest request, FakeServer server) {
        AtomicReference<ClientResponse> last = new AtomicReference<>();
        filter.filter(request, server).subscribe(last::set);
        time.advanceTimeBy(ofMinutes(10));
        return last.get();
    }

    @ParameterizedTest
    @CsvSource({
        "GET, false, 429, 3",
        "POST, false, 429, 3",
        "PATCH, false, 429, 3",
        "GET, false, 503, 3",
        "HEAD, false, 503, 3",
        "PUT, false, 503, 3",
        "DELETE, false, 503, 3",
        "OPTIONS, false, 503, 3",
        "TRACE, false, 503, 3",
        "GET, false, 502, 3",
        "GET, false, 504, 3",
        "POST, false, 503, 1",
        "PATCH, false, 502, 1",
        "POST, true, 503, 3",
        "PATCH, true, 504, 3",
        "GET, false, 500, 1",
        "GET, false, 404, 1",
        "GET, false, 200, 1",
        "POST, true, 500, 1"
    })
    void whatDoesNoHarmIsTriedAgain(String method, boolean keyed, int status, int attempts) {
        FakeServer server = FakeServer.saying(answer(status));
        ExchangeFilterFunction filter = RateLimitExchangeFilter.of(plenty()).withRetry(BRISK);

        ClientResponse last = last(filter, request(method, keyed), server);

        assertThat(server.arrivalsMillis()).hasSize(attempts);
        assertThat(last.statusCode().value()).isEqualTo(status);
    }

    @ParameterizedTest
    @CsvSource({"GET, false, 3", "POST, false, 1", "POST, true, 3"})
    void callWithoutAnAnswerIsTriedAgainIfItCanBeRepeated(String method, boolean keyed, int attempts) {
        ClientRequest request = request(method, keyed);
        WebClientRequestException failure = new WebClientRequestException(
                new IOException("reset"), request.method(), request.url(), request.headers());
        FakeServer server = new FakeServer(number -> Mono.error(failure));

        StepVerifier.create(
                        RateLimitExchangeFilter.of(plenty()).withRetry(BRISK).filter(request, server))
                .then(() -> time.advanceTimeBy(ofMinutes(1)))
                .verifyErrorSatisfies(last -> assertThat(last).isSameAs(failure));

        assertThat(server.arrivalsMillis()).hasSize(attempts);
    }

    @Test
    void otherFailuresAreNotTriedAgain() {
        FakeServer server = new FakeServer(number -> Mono.error(new IllegalStateException("bug")));

        StepVerifier.create(
                        RateLimitExchangeFilter.of(plenty()).withRetry(BRISK).filter(GET, server))
                .verifyErrorMessage("bug");

        assertThat(server.arrivalsMillis()).hasSize(1);
    }

    @Test
    void denialOfOurOwnLimiterIsTriedAgainWhateverTheMethodWhenItSaysSo() {
        RateLimiter limiter = RateLimiter.of(TokenBucket.of(1, ofSeconds(7)));
        FakeServer server = FakeServer.saying(answer(200));
        ExchangeFilterFunction filter =
                RateLimitExchangeFilter.of(limiter, OutboundSpec::reject).withRetry(BRISK);

        last(filter, request("POST", false), server);
        limiter.tryAcquire(KEY).block();
        filter.filter(request("POST", false), server).subscribe();
        time.advanceTimeBy(ofMillis(6_999));
        assertThat(server.arrivalsMillis()).hasSize(1);
        time.advanceTimeBy(ofMillis(2));

        assertThat(server.arrivalsMillis()).hasSize(2);
    }

    @Test
    void retryWaitsUntilTheTimeThatWasNamedAndAsksTheLimiterAgain() {
        RateLimiter limiter = plenty();
        FakeServer server =
                new FakeServer(number -> Mono.just(number == 0 ? answer(429, "Retry-After", "3") : answer(200)));

        ClientResponse last = last(RateLimitExchangeFilter.of(limiter).withRetry(BRISK), GET, server);

        assertThat(last.statusCode().value()).isEqualTo(200);
        assertThat(server.arrivalsMillis()).containsExactly(0L, 3_000L);
        assertThat(Rules.left(limiter, KEY)).isEqualTo(98);
    }

    @Test
    void ofSeveralTimesTheLatestIsWaitedFor() {
        FakeServer server = new FakeServer(
                number -> Mono.just(number == 0 ? answer(429, "Retry-After", "1", "Retry-After", "5") : answer(200)));

        last(RateLimitExchangeRetry.of(BRISK), GET, server);

        assertThat(server.arrivalsMillis()).containsExactly(0L, 5_000L);
    }

    @Test
    void timeTooFarAwayIsNotWaitedFor() {
        FakeServer server = FakeServer.saying(answer(429, "Retry-After", "1000000"));

        ClientResponse last = last(RateLimitExchangeFilter.of(plenty()).withRetry(BRISK), GET, server);

        assertThat(last.statusCode().value()).isEqualTo(429);
        assertThat(server.arrivalsMillis()).hasSize(1);
    }

    @Test
    void timeBeyondTheDeadlineOfTheCallIsNotWaitedForAndTheAnswerComesAtOnce() {
        RetryBudget budget = RetryBudget.ofShare(1).withAtLeastPerSecond(0);
        FakeServer server = FakeServer.saying(answer(429, "Retry-After", "30"));
        AtomicReference<ClientResponse> last = new AtomicReference<>();

        RateLimitExchangeFilter.of(plenty())
                .withRetry(BRISK.withBudget(budget))
                .filter(GET, server)
                .contextWrite(RateLimitContext.deadline(ofSeconds(29)))
                .subscribe(last::set);

        assertThat(last.get().statusCode().value()).isEqualTo(429);
        assertThat(budget.kept()).isEqualTo(1);
        time.advanceTimeBy(ofMinutes(1));
        assertThat(server.arrivalsMillis()).hasSize(1);
    }

    @Test
    void dateThatCannotBeIsNotBelieved() {
        FakeServer server = FakeServer.saying(
                answer(429, "Date", "Mon, 01 Jan -999999999 00:00:00 GMT", "Retry-After", "tomorrow"));

        ClientResponse last = last(RateLimitExchangeRetry.of(BRISK), GET, server);

        assertThat(last.statusCode().value()).isEqualTo(429);
        assertThat(server.arrivalsMillis()).hasSize(3);
    }

    @Test
    void budgetThatIsSpentEndsRetries() {
        RetryBudget budget = RetryBudget.ofShare(0.5).withAtLeastPerSecond(0);
        FakeServer server = FakeServer.saying(answer(503));
        ExchangeFilterFunction filter = RateLimitExchangeFilter.of(plenty()).withRetry(BRISK.withBudget(budget));

        for (int i = 0; i < 10; i++) {
            assertThat(last(filter, GET, server).statusCode().value()).isEqualTo(503);
        }

        assertThat(server.arrivalsMillis()).hasSize(15);
    }

    @Test
    void whatTheUserLeavesOutIsNotTriedAgainAndFailuresOfHisFilterAreNotHidden() {
        FakeServer server = FakeServer.saying(answer(503));
        RateLimitRetry none = BRISK.filter(failure -> failure instanceof RateLimitExceededException);
        RateLimitRetry broken = BRISK.filter(failure -> {
            throw new IllegalStateException("broken");
        });

        assertThat(last(RateLimitExchangeRetry.of(none), GET, server)
                        .statusCode()
                        .value())
                .isEqualTo(503);
        StepVerifier.create(RateLimitExchangeRetry.of(broken).filter(GET, server))
                .verifyErrorMessage("broken");
        assertThat(server.arrivalsMillis()).hasSize(2);
    }

    private static ClientResponse refusal(PublisherProbe<DataBuffer> body) {
        return ClientResponse.create(HttpStatusCode.valueOf(503))
                .body(Flux.from(body.mono()))
                .build();
    }

    @Test
    void refusalIsReleasedBeforeTheWaitAndTheLastOneIsPassedOnAsItIs() {
        PublisherProbe<DataBuffer> first = PublisherProbe.empty();
        PublisherProbe<DataBuffer> second = PublisherProbe.empty();
        FakeServer server = new FakeServer(number -> Mono.just(refusal(number == 0 ? first : second)));
        RateLimitRetry once = RateLimitRetry.atMost(1).withBackoff(ofMinutes(1), ofMinutes(1));
        AtomicReference<ClientResponse> last = new AtomicReference<>();

        RateLimitExchangeRetry.of(once.withRetryAfter(failure -> Optional.of(ofSeconds(5))))
                .filter(GET, server)
                .subscribe(last::set);

        first.assertWasSubscribed();
        assertThat(server.arrivalsMillis()).hasSize(1);
        time.advanceTimeBy(ofMinutes(2));
        assertThat(server.arrivalsMillis()).hasSize(2);
        second.assertWasNotSubscribed();
        last.get().releaseBody().block();
        second.assertWasSubscribed();
    }

    @Test
    void manyRefusalsInARowAreAsGoodAsOne() {
        int refusals = 20_000;
        RateLimitRetry patient = RateLimitRetry.atMost(1_000_000).withBackoff(ofNanos(1), ofNanos(1));
        FakeServer server = new FakeServer(number -> Mono.just(answer(number < refusals ? 429 : 200)));

        ClientResponse last = last(RateLimitExchangeRetry.of(patient), GET, server);

        assertThat(last.statusCode().value()).isEqualTo(200);
        assertThat(server.arrivalsMillis()).hasSize(refusals + 1);
    }

    @Test
    void attemptThatAnsweredIsCancelledOnlyByWhoLeavesBeforeHeReads() {
        List<Integer> cancelled = new ArrayList<>();
        FakeServer server = new FakeServer(
                number -> Mono.just(answer(number < 2 ? 503 : 200)).doOnCancel(() -> cancelled.add(number)));
        List<ClientResponse> answers = new ArrayList<>();
        Disposable call = RateLimitExchangeRetry.of(BRISK)
                .filter(GET, server)
                .doOnNext(answers::add)
                .flatMap(answer -> Mono.never())
                .subscribe();
        time.advanceTimeBy(ofMinutes(1));

        assertThat(answers).hasSize(1);
        assertThat(cancelled).isEmpty();
        call.dispose();
        assertThat(cancelled).containsExactly(2);
    }

    @Test
    void eachAttemptSeesTheContextOfTheCall() {
        List<String> seen = new ArrayList<>();
        FakeServer server = new FakeServer(number -> Mono.deferContextual(context -> {
            seen.add(context.get("caller"));
            return Mono.just(answer(503));
        }));

        RateLimitExchangeRetry.of(BRISK)
                .filter(GET, server)
                .contextWrite(context -> context.put("caller", "ann"))
                .subscribe();
        time.advanceTimeBy(ofMinutes(1));

        assertThat(seen).containsExactly("ann", "ann", "ann");
    }

    @Test
    void exchangeWithoutAnAnswerEndsWithoutOne() {
        FakeServer server = new FakeServer(number -> Mono.empty());

        StepVerifier.create(RateLimitExchangeRetry.of(BRISK).filter(GET, server))
                .verifyComplete();
    }

    @Test
    void whoLeavesDuringTheWaitLeavesNothingBehind() {
        FakeServer server = FakeServer.saying(answer(429, "Retry-After", "3"));
        Disposable call = RateLimitExchangeFilter.of(plenty())
                .withRetry(BRISK)
                .filter(GET, server)
                .subscribe();

        call.dispose();
        long scheduledBefore = time.getScheduledTaskCount();
        time.advanceTimeBy(ofMinutes(1));

        assertThat(server.arrivalsMillis()).hasSize(1);
        assertThat(time.getScheduledTaskCount()).isEqualTo(scheduledBefore);
    }

    @Test
    void withoutAFilterFailuresOfRetrieveAreReadForMethodAndTime() {
        HttpHeaders named = new HttpHeaders();
        named.set("Retry-After", "4");
        WebClientResponseException get = WebClientResponseException.create(
                HttpStatusCode.valueOf(503), "", named, new byte[0], null, new RequestSnapshot(GET));
        WebClientResponseException post = WebClientResponseException.create(
                HttpStatusCode.valueOf(503), "", named, new byte[0], null, new RequestSnapshot(request("POST", false)));
        WebClientResponseException unknown = WebClientResponseException.create(503, "", named, new byte[0], null);
        FakeServer server = FakeServer.saying(answer(200));
        Mono<Object> gets = Mono.defer(() -> server.exchange(GET).then(Mono.error(get)));
        Mono<Object> posts = Mono.defer(() -> server.exchange(GET).then(Mono.error(post)));

        gets.retryWhen(RateLimitExchangeRetry.aware(BRISK)).subscribe(done -> {}, failure -> {});
        time.advanceTimeBy(ofMinutes(1));
        assertThat(server.arrivalsMillis()).containsExactly(0L, 4_000L, 8_000L);
        StepVerifier.create(posts.retryWhen(RateLimitExchangeRetry.aware(BRISK)))
                .verifyError();
        StepVerifier.create(Mono.error(unknown).retryWhen(RateLimitExchangeRetry.aware(BRISK)))
                .verifyError();
        assertThat(server.arrivalsMillis()).hasSize(4);
    }
}
