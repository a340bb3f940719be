package io.github.reactorratelimit.webflux.client;

import static io.github.reactorratelimit.webflux.client.FakeServer.GET;
import static io.github.reactorratelimit.webflux.client.FakeServer.KEY;
import static io.github.reactorratelimit.webflux.client.FakeServer.answer;
import static java.time.Duration.ofHours;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.PermitsExceedCapacityException;
import io.github.reactorratelimit.RateLimitContext;
import io.github.reactorratelimit.RateLimitExceededException;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.webflux.testing.Rules;
import java.time.Duration;
import java.util.List;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.http.HttpMethod;
import org.springframework.web.reactive.function.client.ClientRequest;
import org.springframework.web.reactive.function.client.ClientResponse;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;
import reactor.test.scheduler.VirtualTimeScheduler;

class RateLimitExchangeFilterTest {

    private VirtualTimeScheduler time;

    @BeforeEach
    void stopTheClock() {
        time = VirtualTimeScheduler.getOrSet();
    }

    @AfterEach
    void letTheClockGo() {
        VirtualTimeScheduler.reset();
    }

    private static RateLimitExchangeFilter filter(RateLimiter limiter, UnaryOperator<OutboundSpec> spec) {
        return RateLimitExchangeFilter.of(limiter, spec);
    }

    private static Mono<ClientResponse> call(RateLimitExchangeFilter filter, FakeServer server) {
        return filter.filter(GET, server);
    }

    @Test
    void callsLeaveAtTheRate() {
        FakeServer server = FakeServer.saying(answer(200));
        RateLimitExchangeFilter filter = RateLimitExchangeFilter.of(RateLimiter.of(LeakyBucket.perSecond(10)));

        Flux.range(0, 4).flatMap(n -> call(filter, server)).subscribe();
        time.advanceTimeBy(ofSeconds(1));

        assertThat(server.arrivalsMillis()).containsExactly(0L, 100L, 200L, 300L);
    }

    @Test
    void nothingHappensBeforeSubscriptionAndEachSubscriptionAsksAgain() {
        FakeServer server = FakeServer.saying(answer(200));
        RateLimiter limiter = RateLimiter.of(TokenBucket.of(5, ofHours(5)));
        Mono<ClientResponse> call = call(RateLimitExchangeFilter.of(limiter), server);

        assertThat(Rules.left(limiter, KEY)).isEqualTo(5);
        call.subscribe();
        call.subscribe();

        assertThat(server.arrivalsMillis()).hasSize(2);
        assertThat(Rules.left(limiter, KEY)).isEqualTo(3);
    }

    @ParameterizedTest
    @CsvSource({
        "http://API.Example.com/a, api.example.com:80",
        "https://api.example.com/b?c=d, api.example.com:443",
        "HTTPS://api.example.com, api.example.com:443",
        "http://api.example.com:8080/, api.example.com:8080",
        "http://user@api.example.com/, api.example.com:80",
        "http://[2001:DB8::1]/, [2001:db8::1]:80"
    })
    void keyIsHostAndPortInLowerCaseUnlessGiven(String url, String key) {
        RateLimiter limiter = RateLimiter.of(TokenBucket.of(5, ofHours(5)));
        RateLimitExchangeFilter filter = RateLimitExchangeFilter.of(limiter);

        filter.filter(FakeServer.request(HttpMethod.GET, url), FakeServer.saying(answer(200)))
                .block();

        assertThat(Rules.left(limiter, key)).isEqualTo(4);
    }

    @Test
    void keyIsWhatAFunctionOrAnAttributeSays() {
        RateLimiter limiter = RateLimiter.of(TokenBucket.of(5, ofHours(5)));
        FakeServer server = FakeServer.saying(answer(200));
        ClientRequest request = ClientRequest.from(GET).attribute("tenant", 42).build();

        filter(limiter, spec -> spec.key(r -> r.method() + r.url().getPath()))
                .filter(request, server)
                .block();
        filter(limiter, spec -> spec.keyFromAttribute("tenant"))
                .filter(request, server)
                .block();
        filter(limiter, spec -> spec.key("all")).filter(request, server).block();

        assertThat(List.of(Rules.left(limiter, "GET/path"), Rules.left(limiter, "42"), Rules.left(limiter, "all")))
                .containsOnly(4L);
    }

    @Test
    void callWithoutAKeyFailsAndIsNotSent() {
        FakeServer server = FakeServer.saying(answer(200));
        RateLimiter limiter = RateLimiter.of(TokenBucket.perSecond(5));

        StepVerifier.create(call(filter(limiter, spec -> spec.keyFromAttribute("tenant")), server))
                .verifyErrorSatisfies(failure -> assertThat(failure)
                        .isInstanceOf(IllegalArgumentException.class)
                        .hasMessageContaining("no attribute 'tenant'"));
        StepVerifier.create(call(filter(limiter, spec -> spec.key(request -> "")), server))
                .verifyErrorMessage("the key of a request must not be empty");
        StepVerifier.create(call(filter(limiter, spec -> spec.key(request -> null)), server))
                .verifyErrorMessage("the key of a request must not be null");
        StepVerifier.create(RateLimitExchangeFilter.of(limiter)
                        .filter(FakeServer.request(HttpMethod.GET, "/relative"), server))
                .verifyErrorMessage("request has no host, which is the key of its limit");
        assertThat(server.arrivalsMillis()).isEmpty();
    }

    @Test
    void costIsFixedOrOfTheRequest() {
        RateLimiter limiter = RateLimiter.of(TokenBucket.of(50, ofHours(5)));
        FakeServer server = FakeServer.saying(answer(200));

        call(filter(limiter, spec -> spec.cost(7)), server).block();
        assertThat(Rules.left(limiter, KEY)).isEqualTo(43);
        call(filter(limiter, spec -> spec.cost(r -> r.url().getPath().length())), server)
                .block();
        assertThat(Rules.left(limiter, KEY)).isEqualTo(38);
    }

    @Test
    void costThatCanNeverBeHadFailsAtOnce() {
        RateLimiter limiter = RateLimiter.of(TokenBucket.of(50, ofHours(5)));
        FakeServer server = FakeServer.saying(answer(200));

        StepVerifier.create(call(filter(limiter, spec -> spec.cost(51)), server))
                .verifyError(PermitsExceedCapacityException.class);
        StepVerifier.create(call(filter(limiter, spec -> spec.cost(request -> 0)), server))
                .verifyError(IllegalArgumentException.class);
        assertThat(server.arrivalsMillis()).isEmpty();
    }

    @Test
    void rejectingNeverWaits() {
        FakeServer server = FakeServer.saying(answer(200));
        RateLimitExchangeFilter filter = filter(RateLimiter.of(TokenBucket.of(1, ofHours(1))), OutboundSpec::reject);
        call(filter, server).block();

        StepVerifier.create(call(filter, server)).verifyError(RateLimitExceededException.class);
        assertThat(server.arrivalsMillis()).hasSize(1);
    }

    @Test
    void waitThatIsKnownToBeTooLongIsDeniedAtOnceAndCostsNothing() {
        FakeServer server = FakeServer.saying(answer(200));
        RateLimiter limiter = RateLimiter.of(LeakyBucket.perSecond(1));
        RateLimitExchangeFilter filter = filter(limiter, spec -> spec.maxWait(ofMillis(1500)));
        call(filter, server).subscribe();
        call(filter, server).subscribe();

        StepVerifier.create(call(filter, server)).verifyError(RateLimitExceededException.class);
        StepVerifier.create(call(filter(limiter, spec -> spec), server)
                        .contextWrite(RateLimitContext.deadline(ofMillis(1500))))
                .verifyError(RateLimitExceededException.class);
        time.advanceTimeBy(ofSeconds(5));
        assertThat(server.arrivalsMillis()).containsExactly(0L, 1000L);
    }

    @Test
    void cancelledCallLeavesTheLineAndThoseBehindMoveUp() {
        FakeServer server = FakeServer.saying(answer(200));
        RateLimitExchangeFilter filter = RateLimitExchangeFilter.of(RateLimiter.of(LeakyBucket.perSecond(10)));
        call(filter, server).subscribe();
        Disposable second = call(filter, server).subscribe();
        call(filter, server).subscribe();

        second.dispose();
        time.advanceTimeBy(ofSeconds(1));

        assertThat(server.arrivalsMillis()).containsExactly(0L, 100L);
    }

    @Test
    void refusesWhatMakesNoSense() {
        RateLimiter limiter = RateLimiter.of(TokenBucket.perSecond(5));
        assertThatThrownBy(() -> filter(limiter, spec -> spec.key("")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("key must not be empty");
        assertThatThrownBy(() -> filter(limiter, spec -> spec.cost(0)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("permits must be positive, was 0");
        assertThatThrownBy(() -> filter(limiter, spec -> spec.maxWait(ofMillis(-1))))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("maxWait must not be negative, was PT-0.001S");
        assertThatThrownBy(() -> filter(limiter, spec -> spec.learn(learn -> learn.maxPause(Duration.ZERO))))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("maxPause must be positive and at most 366 days, was PT0S");
        assertThatThrownBy(() -> RateLimitExchangeFilter.of(null))
                .isInstanceOf(NullPointerException.class)
                .hasMessage("limiter");
        assertThatThrownBy(() -> filter(
                        RateLimiter.of(LeakyBucket.perSecond(5)),
                        spec -> spec.cost(10).chargeBytes()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("cannot be settled");
    }
}
