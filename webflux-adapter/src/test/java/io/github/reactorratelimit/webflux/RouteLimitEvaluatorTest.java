package io.github.reactorratelimit.webflux;

import static io.github.reactorratelimit.webflux.testing.Rules.byUser;
import static io.github.reactorratelimit.webflux.testing.Rules.engine;
import static io.github.reactorratelimit.webflux.testing.Rules.few;
import static io.github.reactorratelimit.webflux.testing.Rules.left;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.RateLimiter;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.springframework.mock.http.server.reactive.MockServerHttpRequest;
import org.springframework.mock.web.server.MockServerWebExchange;
import reactor.core.publisher.Mono;

/** A rule that is asked from behind the filter, for a request that the filter has let pass. */
class RouteLimitEvaluatorTest {

    private final RateLimiter filters = RateLimiter.of(few(10));
    private final RateLimiter routes = RateLimiter.of(few(1));
    private final RateLimitRule early = byUser("early").limiter(filters).build();
    private final RateLimitRule route =
            byUser("route").limiter(routes).explicitOnly().build();
    private final RateLimitEngine engine = engine(early);
    private final RouteLimitEvaluator evaluator = new RouteLimitEvaluator(engine);

    private static MockServerWebExchange request() {
        return MockServerWebExchange.from(MockServerHttpRequest.get("/hello").header("X-User", "ann"));
    }

    private RateLimitResult behindFilter(MockServerWebExchange exchange, Mono<RateLimitResult> asked) {
        RateLimitResult[] answer = new RateLimitResult[1];
        RateLimitWebFilter.of(engine)
                .filter(
                        exchange,
                        passed -> asked.doOnNext(given -> answer[0] = given).then())
                .block();
        return answer[0];
    }

    private RateLimitResult askBehindFilter(MockServerWebExchange exchange) {
        return behindFilter(exchange, evaluator.evaluate(route, "ann", exchange));
    }

    @Test
    void denialGivesBackWhatTheFilterTook() {
        assertThat(askBehindFilter(request()).allowed()).isTrue();
        assertThat(askBehindFilter(request()).allowed()).isFalse();
        assertThat(left(filters, "ann")).isEqualTo(9);
    }

    @Test
    void requestThatIsTriedAgainCountsOnceForTheFilterToo() {
        routes.tryAcquire("ann").block();
        MockServerWebExchange exchange = request();
        Mono<RateLimitResult> asked = evaluator.evaluate(route, "ann", exchange);
        Mono<RateLimitResult> again = asked.flatMap(denied -> routes.reset("ann")
                .then(asked)
                .doOnNext(passed -> assertThat(denied.allowed()).isFalse()));
        assertThat(behindFilter(exchange, again).allowed()).isTrue();
        assertThat(left(filters, "ann")).isEqualTo(9);
        assertThat(left(routes, "ann")).isZero();
    }

    @Test
    void ruleThatTheFilterHasAskedIsNotAskedAgain() {
        MockServerWebExchange exchange = request();
        RateLimitResult answer = behindFilter(exchange, evaluator.evaluate(early, "somebody else", exchange));
        assertThat(answer.allowed()).isTrue();
        assertThat(answer.headers().getFirst("RateLimit")).startsWith("\"early\";r=9;");
        assertThat(left(filters, "ann")).isEqualTo(9);
        assertThat(left(filters, "somebody else")).isEqualTo(10);
    }

    @Test
    void answerHasTheFieldsOfTheFilterAndTheResponseHasThemNoMore() {
        MockServerWebExchange exchange = request();
        RateLimitResult answer = askBehindFilter(exchange);
        assertThat(answer.headers().getFirst("RateLimit-Policy")).contains("\"early\"", "\"route\"");
        assertThat(exchange.getResponse().getHeaders().headerNames()).doesNotContain("RateLimit", "RateLimit-Policy");
    }

    @Test
    void clientThatLeavesWhileTheRouteIsAskedCostsNothingAnywhere() {
        MockServerWebExchange exchange = request();
        RateLimitRule waiting = byUser("waiting")
                .limiter(routes)
                .delay(Duration.ofHours(9))
                .explicitOnly()
                .build();
        routes.tryAcquire("ann").block();
        RateLimitWebFilter.of(engine)
                .filter(
                        exchange,
                        passed -> evaluator.evaluate(waiting, "ann", exchange).then())
                .subscribe()
                .dispose();
        assertThat(left(filters, "ann")).isEqualTo(10);
    }
}
