package io.github.reactorratelimit.webflux.client;

import static io.github.reactorratelimit.webflux.client.FakeServer.GET;
import static io.github.reactorratelimit.webflux.client.FakeServer.answer;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.fairness.FairShare;
import io.github.reactorratelimit.fairness.FairShareBuilder;
import java.net.URI;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.http.HttpMethod;
import org.springframework.web.reactive.function.client.ClientRequest;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.scheduler.VirtualTimeScheduler;

/** How many calls leave while a server says how many it takes: 10 in 10 seconds, answered after 2 seconds. */
class SlowingTest {

    private static final String POLICY = "\"burst\";q=10;w=10";

    private VirtualTimeScheduler time;

    @BeforeEach
    void stopTheClock() {
        time = VirtualTimeScheduler.getOrSet();
    }

    @AfterEach
    void letTheClockGo() {
        VirtualTimeScheduler.reset();
    }

    /** How many arrive in 300 seconds, in which the server gives 300. */
    private int arrivals(int perSecond) {
        FakeServer server =
                new FakeServer(number -> Mono.delay(ofSeconds(2)).thenReturn(answer(200, "RateLimit-Policy", POLICY)));
        RateLimitExchangeFilter filter = RateLimitExchangeFilter.of(
                RateLimiter.of(LeakyBucket.perSecond(perSecond).withQueue(10_000)));
        Flux.range(0, 3_000)
                .flatMap(number -> filter.filter(GET, server), 3_000)
                .subscribe();
        time.advanceTimeBy(ofMinutes(5));
        return server.arrivalsMillis().size();
    }

    @Test
    void policyAloneLetsNoMoreLeaveOnAverageThanTheServerGives() {
        int underWay = 2 * 20;

        assertThat(arrivals(20)).isBetween(250, 300 + underWay);
    }

    private static ClientRequest of(String tenant) {
        return ClientRequest.create(HttpMethod.GET, URI.create("http://api.example.com/path"))
                .attribute("tenant", tenant)
                .build();
    }

    @Test
    void tenantsOfAFairShareAreSlowedTogether() {
        FakeServer server =
                new FakeServer(number -> Mono.delay(ofSeconds(2)).thenReturn(answer(200, "RateLimit-Policy", POLICY)));
        FairShare share = FairShare.over(
                        RateLimiter.of(TokenBucket.perSecond(50).withBurst(5)), "api")
                .build();
        RateLimitExchangeFilter filter = RateLimitExchangeFilter.of(
                share.limiter(FairShareBuilder.DEFAULT_CLASS), spec -> spec.keyFromAttribute("tenant"));

        for (int tenant = 0; tenant < 5; tenant++) {
            filter.filter(of("tenant " + tenant), server).subscribe();
        }
        time.advanceTimeBy(ofSeconds(2));
        filter.filter(of("another"), server).subscribe();
        time.advanceTimeBy(ofMinutes(1));

        assertThat(server.arrivalsMillis()).containsExactly(0L, 0L, 0L, 0L, 0L, 7_000L);
    }

    @Test
    void callsUnderWayThatAreWorthMoreThanTheLongestPauseLeaveOnceInThatTime() {
        int underWay = 2 * 50;
        int longestPauses = 300 / 60 + 1;

        assertThat(arrivals(50)).isBetween(300, longestPauses * (underWay + 1));
    }
}
