package io.github.reactorratelimit.webflux.boot;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.webflux.RateLimitRule;
import io.github.reactorratelimit.webflux.key.WebKeys;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import reactor.core.publisher.Mono;

/** Tiers: rules whose limit depends on the plan of whoever calls, in the two ways that the guide shows. */
class PlansTest {

    private static final RateLimitPolicy GOLD = TokenBucket.of(4, Duration.ofDays(1));

    @Configuration(proxyBeanMethods = false)
    static class Tiers {

        /** The application knows the API keys: it knows what the limiter counts them by too. */
        @Bean
        RateLimitRule perKey(RateLimits limits) {
            Map<String, RateLimitPolicy> plans = Map.of(WebKeys.keyOfApiKey("gold-1"), GOLD);
            return RateLimitRule.named("per-key")
                    .path("/hello")
                    .key(WebKeys.apiKey("X-Api-Key"))
                    .limiter(limits.limiter(
                            "per-key",
                            TokenBucket.of(2, Duration.ofDays(1)),
                            builder -> builder.policyPerKey(
                                    key -> Mono.justOrEmpty(plans.get(key)), Duration.ofMinutes(1))))
                    .build();
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class Customers {

        /** The application looks the customer of an API key up: that is the key, and all its API keys share one limit. */
        @Bean
        RateLimitRule perCustomer(RateLimits limits) {
            Map<String, String> customers = Map.of("key-1", "acme", "key-2", "acme", "key-3", "small");
            return RateLimitRule.named("per-customer")
                    .path("/hello")
                    .key(exchange -> Mono.justOrEmpty(
                                    exchange.getRequest().getHeaders().getFirst("X-Api-Key"))
                            .mapNotNull(customers::get))
                    .limiter(limits.limiter(
                            "per-customer",
                            TokenBucket.of(2, Duration.ofDays(1)),
                            builder -> builder.policyPerKey(
                                    customer -> customer.equals("acme") ? Mono.just(GOLD) : Mono.empty(),
                                    Duration.ofMinutes(1))))
                    .build();
        }
    }

    @Test
    void plansAreFoundByTheKeyOfAnApiKey() {
        try (WebApplication application = WebApplication.start("", Tiers.class)) {
            assertThat(application.statuses(3, "/hello", "X-Api-Key", "free-1")).containsExactly(200, 200, 429);
            assertThat(application.statuses(5, "/hello", "X-Api-Key", "gold-1"))
                    .containsExactly(200, 200, 200, 200, 429);
        }
    }

    @Test
    void plansAreFoundByTheCustomerOfAnApiKey() {
        try (WebApplication application = WebApplication.start("", Customers.class)) {
            assertThat(application.statuses(3, "/hello", "X-Api-Key", "key-1")).containsExactly(200, 200, 200);
            assertThat(application.statuses(2, "/hello", "X-Api-Key", "key-2")).containsExactly(200, 429);
            assertThat(application.statuses(3, "/hello", "X-Api-Key", "key-3")).containsExactly(200, 200, 429);
            assertThat(application.get("/hello", "X-Api-Key", "unknown").statusCode())
                    .isEqualTo(403);
        }
    }

    @Test
    void theActuatorShowsRulesOfTheApplication() {
        try (WebApplication application =
                WebApplication.start("management.endpoints.web.exposure.include: ratelimits", Tiers.class)) {
            application.statuses(3, "/hello", "X-Api-Key", "free-1");

            assertThat(application.get("/actuator/ratelimits/per-key").body())
                    .contains("\"store\":\"local\"", "\"allowed\":2", "\"denied\":1", "\"atLeast\":2")
                    .doesNotContain("free-1");
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class BuiltElsewhere {

        @Bean
        RateLimitRule built() {
            return RateLimitRule.named("built")
                    .path("/hello")
                    .globalKey()
                    .policy(TokenBucket.perHour(9))
                    .build();
        }
    }

    @Test
    void theActuatorShowsWhatIsKnownOfARuleWhoseLimiterWasBuiltElsewhere() {
        try (WebApplication application =
                WebApplication.start("management.endpoints.web.exposure.include: ratelimits", BuiltElsewhere.class)) {
            assertThat(application.get("/actuator/ratelimits/built").body())
                    .contains("\"name\":\"built\"", "\"paths\":[\"/hello\"]", "TokenBucket[capacity=9")
                    .doesNotContain("null");
        }
    }

    @Test
    @SuppressWarnings("try") // it only starts
    void aRuleWhoseLimiterWasBuiltElsewhereIsLoggedAtTheStart() {
        try (ConsoleLines output = ConsoleLines.read();
                WebApplication application = WebApplication.start(
                        "logging.level.io.github.reactorratelimit: info", Tiers.class, BuiltElsewhere.class)) {
            assertThat(output.text())
                    .contains("Rule 'built' has a limiter that was not made by RateLimits.limiter(name, policy)")
                    .doesNotContain("Rule 'per-key'");
        }
    }
}
