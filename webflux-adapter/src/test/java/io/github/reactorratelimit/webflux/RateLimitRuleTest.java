package io.github.reactorratelimit.webflux;

import static io.github.reactorratelimit.webflux.testing.Rules.byUser;
import static io.github.reactorratelimit.webflux.testing.Rules.few;
import static java.time.Duration.ZERO;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.RateLimiter;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.http.HttpMethod;
import org.springframework.http.HttpStatus;
import org.springframework.http.HttpStatusCode;
import org.springframework.mock.http.server.reactive.MockServerHttpRequest;
import org.springframework.mock.web.server.MockServerWebExchange;
import org.springframework.web.util.pattern.PatternParseException;
import reactor.core.publisher.Mono;

/** Rules are valid when they are built, and say what they are for. */
class RateLimitRuleTest {

    private static RateLimitRuleBuilder valid() {
        return byUser("api").policy(few(5));
    }

    private static MockServerWebExchange get(String path, String... headers) {
        MockServerHttpRequest.BaseBuilder<?> request = MockServerHttpRequest.get(path);
        for (int i = 0; i < headers.length; i += 2) {
            request.header(headers[i], headers[i + 1]);
        }
        return MockServerWebExchange.from(request);
    }

    private static boolean matches(RateLimitRuleBuilder rule, MockServerWebExchange exchange) {
        RateLimitEngine engine = RateLimitEngine.builder().rule(rule.build()).build();
        return !engine.matcher(false).match(exchange).isEmpty();
    }

    @Test
    void whatIsMissingIsNamedWithTheRule() {
        assertThatIllegalStateException()
                .isThrownBy(() -> RateLimitRule.named("api").policy(few(1)).build())
                .withMessage("rule 'api' needs a key: key(…), or globalKey()");
        assertThatIllegalStateException()
                .isThrownBy(() -> byUser("api").build())
                .withMessage("rule 'api' needs either a limiter or a policy");
        assertThatIllegalStateException()
                .isThrownBy(() -> valid().limiter(RateLimiter.of(few(1))).build())
                .withMessage("rule 'api' needs either a limiter or a policy");
    }

    @Test
    void contradictionsAreRefused() {
        assertThatIllegalStateException()
                .isThrownBy(() -> valid().explicitOnly().path("/a").build())
                .withMessageContaining("can have no conditions");
        assertThatIllegalStateException()
                .isThrownBy(() -> byUser("api")
                        .policy(ConcurrencyLimit.of(1))
                        .countStatuses(StatusSet.parse("401"))
                        .build())
                .withMessageContaining("cannot count by outcome");
        assertThatIllegalStateException()
                .isThrownBy(() -> byUser("api")
                        .policy(ConcurrencyLimit.of(1))
                        .delayAbove(RateLimiter.of(few(1)), ofSeconds(1))
                        .build())
                .withMessageContaining("needs another rule");
    }

    @Test
    void fixedCostThatIsNeverThereIsRefused() {
        assertThatIllegalStateException()
                .isThrownBy(() -> valid().cost(6).build())
                .withMessage("rule 'api' costs 6 permits, and its limit never gives more than 5 at once");
        assertThatIllegalStateException()
                .isThrownBy(() -> byUser("api")
                        .limiter(RateLimiter.of(ConcurrencyLimit.of(1)))
                        .cost(2)
                        .build())
                .withMessage("rule 'api' costs 2 permits, and its limit never gives more than 1 at once");
        assertThatIllegalStateException()
                .isThrownBy(() -> valid().cost(3)
                        .delayAbove(RateLimiter.of(few(2)), ofSeconds(1))
                        .build())
                .withMessage("rule 'api' costs 3 permits, and its softer limit never gives more than 2 at once");
        assertThat(valid().cost(5).build().cost().permits(get("/"))).isEqualTo(5);
        assertThat(valid().cost(exchange -> 6).build().cost().permits(get("/"))).isEqualTo(6);
    }

    @Test
    void badValuesAreRefused() {
        assertThatIllegalArgumentException().isThrownBy(() -> RateLimitRule.named("café"));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> valid().cost(0))
                .withMessage("cost must be positive, was 0");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> valid().delay(ZERO))
                .withMessage("maxWait must be positive, was PT0S");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> valid().delayAbove(RateLimiter.of(ConcurrencyLimit.of(1)), ofSeconds(1)))
                .withMessageStartingWith("soft must not be a ConcurrencyLimit");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> valid().missingKeyStatus(HttpStatus.OK))
                .withMessage("status must be 4xx or 5xx, was 200");
        assertThatExceptionOfType(PatternParseException.class).isThrownBy(() -> valid().path("/a/{b"));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RateLimitEngine.builder().keyTimeout(ZERO))
                .withMessage("keyTimeout must be positive, was PT0S");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> HeaderOptions.defaults().withRetryAfterJitter(1.1))
                .withMessage("retryAfterJitter must be between 0 and 1, was 1.1");
    }

    @Test
    void twoRulesOfOneNameAreRefused() {
        RateLimitRule rule = valid().build();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RateLimitEngine.builder().rules(List.of(rule, valid().build())))
                .withMessage("there are two rate limit rules of the name 'api'");
    }

    @Test
    void firstSlashOfAPatternMayBeLeftOutAsInAMapping() {
        assertThat(matches(valid().path("login"), get("/login"))).isTrue();
        assertThat(matches(valid().path("login/**"), get("/login/again"))).isTrue();
        assertThat(matches(valid().path("login"), get("/logout"))).isFalse();
    }

    @Test
    void conditionsAddUp() {
        assertThat(matches(valid(), get("/any"))).isTrue();
        assertThat(matches(valid().path("/a", "/b"), get("/b"))).isTrue();
        assertThat(matches(valid().path("/a", "/b"), get("/c"))).isFalse();
        assertThat(matches(valid().method(HttpMethod.POST), get("/a"))).isFalse();
        assertThat(matches(valid().method(HttpMethod.POST).method(HttpMethod.GET), get("/a")))
                .isTrue();
        assertThat(matches(valid().header("X-A"), get("/a"))).isFalse();
        assertThat(matches(valid().header("X-A"), get("/a", "x-a", "1"))).isTrue();
        assertThat(matches(valid().header("X-A", "2"), get("/a", "X-A", "1", "X-A", "2")))
                .isTrue();
        assertThat(matches(valid().header("X-A", "2"), get("/a", "X-A", "1"))).isFalse();
        assertThat(matches(valid().header("X-A").when(exchange -> false), get("/a", "X-A", "1")))
                .isFalse();
        assertThat(matches(valid().unless(exchange -> true), get("/a"))).isFalse();
        assertThat(matches(valid().path("/a").method(HttpMethod.POST), get("/a")))
                .isFalse();
        assertThat(matches(valid().explicitOnly(), get("/a"))).isFalse();
    }

    @ParameterizedTest
    @CsvSource({
        "401, 401, true",
        "401, 403, false",
        "'401, 403', 403, true",
        "5xx, 599, true",
        "5XX, 499, false",
        "400-404, 404, true",
        "400 - 404, 405, false",
        "999, 999, true"
    })
    void statusesAreCodesRangesOrClasses(String text, int status, boolean contained) {
        assertThat(StatusSet.parse(text).contains(HttpStatusCode.valueOf(status)))
                .isEqualTo(contained);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "40", "4x", "4xy", "404-400", "401,", "0xx", "abc", "401;403", "-1"})
    void otherStatusesAreRefused(String text) {
        assertThatIllegalArgumentException().isThrownBy(() -> StatusSet.parse(text));
    }

    @Test
    void statusSetsOfTheSameCodesAreEqual() {
        assertThat(StatusSet.parse("400-499"))
                .isEqualTo(StatusSet.parse("4xx"))
                .hasSameHashCodeAs(StatusSet.parse("4xx"))
                .isNotEqualTo(StatusSet.parse("400-498"));
        assertThat(StatusSet.parse("401,403")).hasToString("401,403");
    }

    @ParameterizedTest
    @CsvSource({
        "GET, , , 1",
        "POST, 0, , 1",
        "POST, 1, , 1",
        "POST, 1000, , 1",
        "POST, 1001, , 2",
        "POST, 9223372036854775807, , 9223372036854776",
        "POST, , , 7",
        "DELETE, , , 7",
        "GET, , chunked, 7",
        "POST, , chunked, 7"
    })
    void costByContentLengthIsNeverLessThanOneAndWhatIsUnknownCostsAsChosen(
            String method, Long length, String encoding, long cost) {
        MockServerHttpRequest.BodyBuilder request = MockServerHttpRequest.method(HttpMethod.valueOf(method), "/");
        if (length != null) {
            request.contentLength(length);
        }
        if (encoding != null) {
            request.header("Transfer-Encoding", encoding);
        }
        assertThat(RequestCost.contentLength(1_000, 7).permits(MockServerWebExchange.from(request)))
                .isEqualTo(cost);
    }

    @Test
    void nothingThatIsPrintedHoldsAKey() {
        RateLimitRule rule = valid().path("/a").build();

        assertThat(rule.toString()).isEqualTo("RateLimitRule 'api' of " + few(5) + " for /a");
        assertThat(RateLimitDenial.failed(rule)).hasToString("denied by rule 'api': UNAVAILABLE, status 503");
    }

    @Test
    void engineKnowsItsRulesByName() {
        RateLimitRule rule = valid().build();
        RateLimitEngine engine = RateLimitEngine.builder().rule(rule).build();

        assertThat(engine.rules()).containsExactly(rule);
        assertThat(engine.rule("api")).containsSame(rule);
        assertThat(engine.rule("other")).isEmpty();
        assertThat(engine.admit(get("/a", "X-User", "ann"), List.of(rule), Mono::just)
                        .map(RateLimitResult::allowed)
                        .block())
                .isTrue();
    }
}
