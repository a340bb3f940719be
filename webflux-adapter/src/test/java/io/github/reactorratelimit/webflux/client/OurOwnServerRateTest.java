package io.github.reactorratelimit.webflux.client;

import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.SlidingWindowCounter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.WarmUp;
import io.github.reactorratelimit.webflux.RateLimitEngine;
import io.github.reactorratelimit.webflux.RateLimitRule;
import io.github.reactorratelimit.webflux.RateLimitWebFilter;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.http.server.reactive.HttpHandler;
import org.springframework.test.web.reactive.server.HttpHandlerConnector;
import org.springframework.web.reactive.function.client.WebClient;
import org.springframework.web.server.WebHandler;
import org.springframework.web.server.adapter.WebHttpHandlerBuilder;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.test.scheduler.VirtualTimeScheduler;

/** After a burst a caller reaches the rate of our server, by what its header fields say, in virtual time. */
class OurOwnServerRateTest {

    private static final int BURST = 40;
    private static final int CALLS = 2_000;

    private VirtualTimeScheduler time;

    @BeforeEach
    void stopTheClock() {
        time = VirtualTimeScheduler.getOrSet();
    }

    @AfterEach
    void letTheClockGo() {
        VirtualTimeScheduler.reset();
    }

    /** Each policy with its permits per second. */
    static Stream<Arguments> policies() {
        return Stream.of(
                arguments(TokenBucket.perMinute(100), 100 / 60.0),
                arguments(TokenBucket.perSecond(7).withBurst(20), 7.0),
                arguments(TokenBucket.perSecond(50).withBurst(10), 50.0),
                arguments(Gcra.perMinute(100).withBurst(10), 100 / 60.0),
                arguments(Gcra.perSecond(20).withBurst(1), 20.0),
                arguments(LeakyBucket.of(3, ofSeconds(10)).withQueue(5), 0.3),
                arguments(LeakyBucket.perSecond(20), 20.0),
                arguments(FixedWindow.of(10, ofSeconds(1)), 10.0),
                arguments(FixedWindow.of(100, ofMinutes(1)), 100 / 60.0),
                arguments(SlidingWindowLog.of(10, ofSeconds(1)), 10.0),
                arguments(SlidingWindowLog.of(100, ofMinutes(1)), 100 / 60.0),
                arguments(SlidingWindowCounter.of(10, ofSeconds(1)), 10.0),
                arguments(SlidingWindowCounter.of(100, ofMinutes(1)), 100 / 60.0),
                arguments(WarmUp.of(30, ofMinutes(1), ofSeconds(20)), 0.5));
    }

    private static HttpHandler server(RateLimitPolicy policy) {
        RateLimitEngine engine = RateLimitEngine.builder()
                .rule(RateLimitRule.named("api").globalKey().policy(policy).build())
                .build();
        WebHandler handler = exchange -> exchange.getResponse().setComplete();
        return WebHttpHandlerBuilder.webHandler(handler)
                .filter(RateLimitWebFilter.of(engine))
                .build();
    }

    @ParameterizedTest
    @MethodSource("policies")
    void clientReachesTheRateAndIsHardlyEverDenied(RateLimitPolicy policy, double rate) {
        Map<Integer, Integer> statuses = new ConcurrentHashMap<>();
        WebClient client = WebClient.builder()
                .baseUrl("http://server")
                .clientConnector(new HttpHandlerConnector(server(policy)))
                .filter(RateLimitExchangeFilter.of(RateLimiter.of(TokenBucket.perSecond(1_000))))
                .build();
        Flux<Integer> calls = Flux.range(0, Integer.MAX_VALUE)
                .flatMap(
                        number -> client.get()
                                .uri("/")
                                .exchangeToMono(answer -> answer.releaseBody()
                                        .thenReturn(answer.statusCode().value())),
                        1);
        Flux<Integer> burst = Flux.range(0, BURST).flatMap(number -> calls.next(), BURST);
        Disposable calling = burst.thenMany(calls).subscribe(status -> statuses.merge(status, 1, Integer::sum));

        time.advanceTimeBy(ofMinutes(2));
        statuses.clear();
        long seconds = Math.round(CALLS / rate);
        time.advanceTimeBy(ofSeconds(seconds));
        calling.dispose();

        int denied = statuses.getOrDefault(429, 0);
        assertThat(statuses.get(200)).as("of %d: %s", CALLS, statuses).isGreaterThanOrEqualTo(CALLS * 95 / 100);
        assertThat(denied).as("%s", statuses).isLessThanOrEqualTo(CALLS / 100);
    }
}
