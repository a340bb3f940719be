package io.github.reactorratelimit.webflux.boot;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.webflux.RateLimitRule;
import io.github.reactorratelimit.webflux.RateLimited;
import io.github.reactorratelimit.webflux.key.WebKey;
import io.github.reactorratelimit.webflux.key.WebKeys;
import io.github.reactorratelimit.webflux.testing.RawResponse;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;
import reactor.core.publisher.Mono;

/** Each property does what it says, on a real server. Permits come back within days, so that none does while a test runs. */
class LimitsTest {

    @RestController
    static class Annotated {

        @GetMapping("/annotated/{id}")
        @RateLimited("named")
        Mono<String> annotated(@PathVariable String id) {
            return Mono.just(id);
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class OwnBeans {

        @Bean
        WebKey planKey() {
            return WebKeys.header("X-Plan");
        }

        @Bean
        RateLimitRule ownRule() {
            return RateLimitRule.named("own")
                    .path("/own")
                    .globalKey()
                    .policy(TokenBucket.of(1, Duration.ofDays(1)))
                    .build();
        }
    }

    @Test
    void aLimitIsForItsPathsAndMethods() {
        try (WebApplication application = WebApplication.start("""
                reactor-ratelimit.limits:
                  logins:
                    paths: [/login, /logout]
                    methods: POST
                    key: ip
                    limit: 1 per day
                """)) {
            assertThat(application.statuses(3, "/hello")).containsOnly(200);
            assertThat(application.statuses(2, "/login?status=200")).containsOnly(405);
            assertThat(application.post("/login?status=200", "").statusCode()).isEqualTo(200);
            assertThat(application.post("/login?status=200", "").statusCode()).isEqualTo(429);
        }
    }

    @Test
    void onlyFailedLoginsCount() {
        try (WebApplication application = WebApplication.start("""
                reactor-ratelimit.limits:
                  failed-logins:
                    paths: /login
                    key: ip
                    algorithm: fixed-window
                    limit: 2 per 300 days
                    count-statuses: 401, 5xx
                """)) {
            for (int i = 0; i < 3; i++) {
                assertThat(application.post("/login?status=200", "").statusCode())
                        .isEqualTo(200);
                assertThat(application.post("/login?status=404", "").statusCode())
                        .isEqualTo(404);
            }
            assertThat(application.post("/login?status=401", "").statusCode()).isEqualTo(401);
            assertThat(application.post("/login?status=503", "").statusCode()).isEqualTo(503);
            assertThat(application.post("/login?status=200", "").statusCode()).isEqualTo(429);
        }
    }

    @Test
    void keysTellClientsApartAndSomeHaveLimitsOfTheirOwn() {
        try (WebApplication application = WebApplication.start("""
                reactor-ratelimit.limits:
                  per-api-key:
                    key: api-key:X-Api-Key
                    limit: 1 per day
                    missing-key-status: 401
                    overrides:
                      - key: gold
                        limit: 3 per day
                  per-tenant:
                    key: header:X-Tenant
                    limit: 100 per day
                    missing-key: shared
                    overrides: [{key: small, limit: 2 per day}]
                """)) {
            assertThat(application.get("/hello").statusCode()).isEqualTo(401);
            assertThat(application.statuses(2, "/hello", "X-Api-Key", "one")).containsExactly(200, 429);
            assertThat(application.statuses(2, "/hello", "X-Api-Key", "two")).containsExactly(200, 429);
            assertThat(application.statuses(4, "/hello", "X-Api-Key", "gold", "X-Tenant", "small"))
                    .containsExactly(200, 200, 429, 429);
            assertThat(application.statuses(2, "/hello", "X-Api-Key", "gold")).containsExactly(200, 429);
        }
    }

    @Test
    void severalKeysAreOneAndAnAlternativeIsForThoseWithout() {
        try (WebApplication application = WebApplication.start("""
                reactor-ratelimit.limits:
                  together:
                    paths: /hello
                    key: header:X-A, header:X-B
                    limit: 1 per day
                    missing-key: shared
                  either:
                    paths: /annotated/**
                    key: cookie:c or path:/annotated/{id}#id
                    limit: 1 per day
                  named:
                    explicit-only: true
                    key: all
                    limit: 4 per day
                """, Annotated.class)) {
            assertThat(application.statuses(2, "/hello", "X-A", "1", "X-B", "1"))
                    .containsExactly(200, 429);
            assertThat(application.statuses(2, "/hello", "X-A", "1", "X-B", "2"))
                    .containsExactly(200, 429);
            assertThat(application.statuses(2, "/hello", "X-A", "1")).containsExactly(200, 429);
            assertThat(application.statuses(2, "/annotated/7")).containsExactly(200, 429);
            assertThat(application.statuses(2, "/annotated/8")).containsExactly(200, 429);
            assertThat(application.statuses(2, "/annotated/8", "Cookie", "c=d")).containsExactly(200, 429);
            assertThat(application.get("/annotated/9").statusCode()).isEqualTo(200);
            assertThat(application.get("/annotated/10").headers().firstValue("RateLimit-Policy"))
                    .as("what the annotation names")
                    .hasValueSatisfying(policies -> assertThat(policies).contains("\"named\";q=4"));
            assertThat(application.get("/annotated/11").statusCode()).isEqualTo(429);
        }
    }

    @Test
    void beansOfTheApplicationJoin() {
        try (WebApplication application = WebApplication.start("""
                reactor-ratelimit.limits:
                  per-plan:
                    paths: /hello
                    key: bean:planKey
                    limit: 1 per day
                """, OwnBeans.class)) {
            assertThat(application.statuses(2, "/hello", "X-Plan", "free")).containsExactly(200, 429);
            assertThat(application.statuses(2, "/own")).containsExactly(404, 429);
        }
    }

    /** An application may have handlers there, for paths that begin with a variable. */
    @Test
    void aLimitWithoutPathsIsForEveryPathAlsoBelowTheActuatorsButNotForItsEndpoints() {
        try (WebApplication application = WebApplication.start("""
                reactor-ratelimit.limits: {some: {key: all, limit: 2 per day}}
                management.endpoints.web.exposure.include: health, ratelimits
                management.endpoint.health.probes: {enabled: true, add-additional-paths: true}
                """)) {
            assertThat(application.statuses(1, "/actuator/login")).containsExactly(404);
            assertThat(application.statuses(5, "/actuator/health")).containsOnly(200);
            assertThat(application.statuses(5, "/actuator/health/liveness")).containsOnly(200);
            assertThat(application.statuses(5, "/livez")).containsOnly(200);
            assertThat(application.statuses(5, "/actuator/ratelimits/some")).containsOnly(200);
            assertThat(application.statuses(5, "/actuator")).containsOnly(200);
            assertThat(application.statuses(1, "/actuator/login")).containsExactly(404);
            assertThat(application.statuses(1, "/hello")).containsExactly(429);
            for (String disguised : new String[] {
                "/actuator/health/../../hello", "/actuator/health/..;/..;/hello",
                        "/actuator/health/%2e%2e/%2e%2e/hello",
                "/actuator/health//hello", "/actuator/health/;x=1/hello", "/actuator/healthy"
            }) {
                assertThat(application.get(disguised).statusCode())
                        .as(disguised)
                        .isEqualTo(429);
            }
        }
    }

    /** Where the Actuator has a server of its own, the filters are on its way too. On the other server its paths are like all others. */
    @ParameterizedTest
    @ValueSource(strings = {"", "/manage"})
    void endpointsOnAPortOfTheirOwnAreOutsideThereOnly(String base) {
        try (WebApplication application = WebApplication.start("""
                reactor-ratelimit.limits: {some: {key: all, limit: 3 per day}}
                management.server: {port: 0, base-path: '%s'}
                management.endpoint.health.probes: {enabled: true, add-additional-paths: true}
                """.formatted(base))) {
            int port = application.bean(Environment.class).getRequiredProperty("local.management.port", Integer.class);
            for (int i = 0; i < 5; i++) {
                for (String endpoint : List.of("", "/health", "/health/liveness")) {
                    RawResponse answer = RawResponse.to(port, "GET " + base + "/actuator" + endpoint + " HTTP/1.1", "");
                    assertThat(answer.status()).as(endpoint).isEqualTo(200);
                }
            }
            assertThat(application.statuses(5, "/livez")).containsOnly(200);
            assertThat(application.get("/manage/actuator/health").statusCode()).isEqualTo(404);
            assertThat(application.get("/actuator/health").statusCode()).isEqualTo(404);
            assertThat(application.statuses(2, "/hello")).containsExactly(200, 429);
        }
    }

    @Test
    void endpointsAreLimitedWhereTheirPathsAreNamed() {
        try (WebApplication application = WebApplication.start(
                "reactor-ratelimit.limits: {some: {paths: /actuator/**, key: all, limit: 2 per day}}\n")) {
            assertThat(application.statuses(3, "/actuator/health")).containsExactly(200, 200, 429);
            assertThat(application.statuses(3, "/hello")).containsOnly(200);
        }
    }

    /** An operator who makes a limit as small as that can make it larger again. */
    @Test
    void anOperatorIsNotLockedOutByALimit() {
        try (WebApplication application = WebApplication.start("""
                reactor-ratelimit.limits: {some: {key: ip, limit: 100 per minute}}
                management.endpoints.web.exposure.include: ratelimits
                management.endpoint.ratelimits.access: unrestricted
                """)) {
            for (String limit : new String[] {"1 per day", "1 per day", "1 per day", "100 per day"}) {
                assertThat(application
                                .post(
                                        "/actuator/ratelimits/some",
                                        "{\"limit\":\"" + limit + "\"}",
                                        "Content-Type",
                                        "application/json")
                                .statusCode())
                        .isEqualTo(200);
            }
        }
    }

    @Test
    void addressesAreBelievedFromTrustedProxiesOnlyAndInternalCallersPass() {
        try (WebApplication application = WebApplication.start("""
                reactor-ratelimit:
                  client-address.trusted-proxies: 127.0.0.0/8, ::1
                  allow-list:
                    networks: 10.1.0.0/16
                    secret-header: X-Internal
                    secrets: a-secret-of-some-length
                  limits:
                    per-client:
                      key: ip
                      limit: 1 per day
                      overrides: [{key: 192.0.2.9, limit: 2 per day}]
                """)) {
            assertThat(application.statuses(2, "/hello", "X-Forwarded-For", "192.0.2.1"))
                    .containsExactly(200, 429);
            assertThat(application.statuses(2, "/hello", "X-Forwarded-For", "203.0.113.5, 192.0.2.1"))
                    .containsExactly(429, 429);
            assertThat(application.statuses(3, "/hello", "X-Forwarded-For", "192.0.2.9"))
                    .containsExactly(200, 200, 429);
            assertThat(application.statuses(3, "/hello", "X-Forwarded-For", "10.1.2.3"))
                    .containsOnly(200);
            assertThat(application.statuses(2, "/hello", "X-Internal", "a-secret-of-some-length"))
                    .containsOnly(200);
            assertThat(application.statuses(2, "/hello", "X-Internal", "another-one-of-length"))
                    .containsExactly(200, 429);
        }
    }

    @Test
    void everyAddressAsATrustedProxyIsAllowed() {
        try (WebApplication application = WebApplication.start("""
                reactor-ratelimit:
                  client-address: {trusted-proxies: 0.0.0.0/0, source: forwarded}
                  limits: {per-client: {key: ip, limit: 1 per day}}
                """)) {
            assertThat(application.statuses(2, "/hello", "Forwarded", "for=192.0.2.1"))
                    .containsExactly(200, 429);
        }
    }

    @Test
    void requestsWaitForTheirTurnAndNoLonger() {
        try (WebApplication application = WebApplication.start("""
                reactor-ratelimit.limits:
                  soon: {paths: /hello, key: ip, limit: 100 per second, burst: 1, max-wait: 1m}
                  never: {paths: /never, key: ip, limit: 1 per day, mode: delay, max-wait: 1s}
                  softly: {paths: /softly, key: ip, limit: 4 per day, algorithm: sliding-log,
                     soft-limit: 3 per day, max-wait: 1s}
                """)) {
            assertThat(application.statuses(5, "/hello")).containsOnly(200);
            assertThat(application.statuses(2, "/never")).containsExactly(404, 429);
            assertThat(application.statuses(4, "/softly")).containsExactly(404, 404, 404, 429);
        }
    }

    @Test
    void headersAreSentAsChosen() {
        try (WebApplication application = WebApplication.start("""
                reactor-ratelimit:
                  headers: {standard: false, legacy: delta-seconds}
                  limits: {per-client: {key: all, limit: 7 per day}}
                """)) {
            var headers = application.get("/hello").headers();
            assertThat(headers.firstValue("RateLimit")).isEmpty();
            assertThat(headers.firstValue("X-RateLimit-Limit")).contains("7");
            assertThat(headers.firstValue("X-RateLimit-Remaining")).contains("6");
        }
    }

    @Test
    void aRequestCostsWhatIsSaid() {
        try (WebApplication application = WebApplication.start("""
                reactor-ratelimit.limits:
                  dear: {paths: /hello, key: all, limit: 5 per day, cost: 2}
                  by-size: {paths: /login, key: all, limit: 10 per day, bytes-per-permit: 1KB}
                """)) {
            assertThat(application.statuses(3, "/hello")).containsExactly(200, 200, 429);
            application.post("/login?status=200", "x".repeat(3 * 1024 + 1));
            assertThat(application
                            .post("/login?status=200", "x")
                            .headers()
                            .firstValue("RateLimit")
                            .orElseThrow())
                    .startsWith("\"by-size\";r=5");
        }
    }

    @Test
    void aBodyOfUnknownLengthCostsTheWholeLimitUnlessItsCostIsSaid() {
        try (WebApplication application = WebApplication.start("""
                reactor-ratelimit.limits:
                  by-size: {paths: /upload, key: all, limit: 10 per day, bytes-per-permit: 1KB}
                  told: {paths: /told, key: all, limit: 10 per day, bytes-per-permit: 1KB, cost: 4}
                """)) {
            assertThat(application.postChunked("/upload", "x").statusCode()).isEqualTo(200);
            assertThat(application.get("/upload").statusCode()).isEqualTo(429);
            assertThat(application
                            .postChunked("/told", "x")
                            .headers()
                            .firstValue("RateLimit")
                            .orElseThrow())
                    .startsWith("\"told\";r=6");
        }
    }

    @Test
    void longValuesHaveOverridesToo() {
        String longName = "n".repeat(65);
        try (WebApplication application = WebApplication.start("""
                reactor-ratelimit.limits:
                  per-tenant: {paths: /hello, key: header:X-Tenant, limit: 1 per day,
                     overrides: [{key: LONG, limit: 2 per day}, {key: '#1', limit: 3 per day}]}
                  per-id: {paths: '/ids/{id}', key: 'path:/ids/{id}#id', limit: 1 per day,
                     overrides: [{key: LONG, limit: 2 per day}]}
                """.replace("LONG", longName))) {
            assertThat(application.statuses(3, "/hello", "X-Tenant", longName)).containsExactly(200, 200, 429);
            assertThat(application.statuses(4, "/hello", "X-Tenant", "#1")).containsExactly(200, 200, 200, 429);
            assertThat(application.statuses(3, "/ids/" + longName)).containsExactly(404, 404, 429);
        }
    }

    @Test
    void everyAlgorithmCanBeChosen() {
        for (LimitProperties.Algorithm algorithm : LimitProperties.Algorithm.values()) {
            String rate = algorithm == LimitProperties.Algorithm.CONCURRENCY ? "2" : "2 per minute";
            RateLimits limits = BoundProperties.limits(BoundProperties.of("""
                    reactor-ratelimit.limits: {some: {key: all, limit: %s, algorithm: %s}}
                    """.formatted(
                            rate, algorithm.name().toLowerCase(Locale.ROOT).replace('_', '-'))));
            long capacity = algorithm == LimitProperties.Algorithm.LEAKY_BUCKET ? 1_000 : 2;
            assertThat(limits.limiter("some").orElseThrow().policy().capacity())
                    .as(algorithm.name())
                    .isEqualTo(capacity);
        }
    }
}
