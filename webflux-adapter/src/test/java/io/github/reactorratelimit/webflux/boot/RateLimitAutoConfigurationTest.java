package io.github.reactorratelimit.webflux.boot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.github.reactorratelimit.RateLimitRecorder;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.webflux.DenialCors;
import io.github.reactorratelimit.webflux.RateLimitEngine;
import io.github.reactorratelimit.webflux.RateLimitRule;
import io.github.reactorratelimit.webflux.RateLimitWebFilter;
import io.github.reactorratelimit.webflux.RateLimitedHandlerAdapter;
import io.github.reactorratelimit.webflux.key.ClientAddress;
import io.lettuce.core.RedisClient;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.context.annotation.ImportCandidates;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.ReactiveHealthIndicator;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.context.runner.ReactiveWebApplicationContextRunner;
import org.springframework.boot.webflux.autoconfigure.HttpHandlerAutoConfiguration;
import org.springframework.boot.webflux.autoconfigure.WebFluxAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.support.SimpleThreadScope;
import org.springframework.dao.DataAccessException;
import org.springframework.data.redis.connection.RedisClusterConnection;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisSentinelConnection;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

class RateLimitAutoConfigurationTest {

    private static final String[] ONE_LIMIT = {
        "reactor-ratelimit.limits.some.key=all", "reactor-ratelimit.limits.some.limit=2 per day"
    };

    private final ReactiveWebApplicationContextRunner runner = new ReactiveWebApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(
                    HttpHandlerAutoConfiguration.class,
                    WebFluxAutoConfiguration.class,
                    RateLimitAutoConfiguration.class,
                    RateLimitActuatorAutoConfiguration.class));

    @Test
    void everythingIsThereWithoutAnyProperty() {
        runner.run(context -> assertThat(context)
                .hasSingleBean(RateLimits.class)
                .hasSingleBean(RateLimitEngine.class)
                .hasSingleBean(RateLimitedHandlerAdapter.class)
                .hasSingleBean(ClientAddress.class)
                .hasBean("rateLimitWebFilter")
                .hasBean("rateLimitAfterAuthenticationWebFilter"));
    }

    @Test
    void nothingIsThereWhenTurnedOff() {
        runner.withPropertyValues("reactor-ratelimit.enabled=false", "reactor-ratelimit.limits.some.name=some")
                .run(context -> assertThat(context)
                        .hasNotFailed()
                        .doesNotHaveBean(RateLimits.class)
                        .doesNotHaveBean(RateLimitWebFilter.class)
                        .doesNotHaveBean(RateLimitsEndpoint.class));
    }

    @Test
    void nothingIsThereInAnApplicationWithoutAServer() {
        new ApplicationContextRunner()
                .withConfiguration(AutoConfigurations.of(RateLimitAutoConfiguration.class))
                .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(RateLimits.class));
    }

    /** What Spring MVC's contexts have, without its classes, which a gateway refuses to start with. */
    private static ApplicationContextRunner servletApplication() {
        return new ApplicationContextRunner()
                .withInitializer(context -> context.getBeanFactory().registerScope("session", new SimpleThreadScope()))
                .withConfiguration(AutoConfigurations.of(
                        RateLimitServletAutoConfiguration.class, RateLimitAutoConfiguration.class));
    }

    @Test
    void anApplicationOfSpringMvcDoesNotStartWithLimits() {
        servletApplication()
                .withPropertyValues(ONE_LIMIT)
                .run(context -> assertThat(context)
                        .getFailure()
                        .rootCause()
                        .isInstanceOf(RateLimitConfigurationException.class)
                        .hasMessageContaining("reactor-ratelimit.limits")
                        .hasMessageContaining("Spring MVC")
                        .hasMessageContaining("spring-boot-starter-webflux"));
        servletApplication().run(context -> assertThat(context).hasNotFailed());
        servletApplication()
                .withPropertyValues(ONE_LIMIT)
                .withPropertyValues("reactor-ratelimit.enabled=false")
                .run(context -> assertThat(context).hasNotFailed());
    }

    @Test
    void allOfOurConfigurationsAreFoundByBoot() {
        assertThat(ImportCandidates.load(AutoConfiguration.class, getClass().getClassLoader())
                        .getCandidates())
                .contains(RateLimitServletAutoConfiguration.class.getName());
    }

    @Test
    void aKeyThatNobodyHasWithoutSpringSecurityIsWarnedOf() {
        String told = "Limit 'some' counts by principal, but Spring Security is not on the class path";
        try (ConsoleLines output = ConsoleLines.read()) {
            runner.withPropertyValues(ONE_LIMIT)
                    .withPropertyValues("reactor-ratelimit.limits.some.key=principal or ip")
                    .run(context -> assertThat(context).hasNotFailed());
            assertThat(output.text()).doesNotContain(told);
            runner.withPropertyValues(ONE_LIMIT)
                    .withPropertyValues("reactor-ratelimit.limits.some.key=principal")
                    .run(context -> assertThat(context).hasNotFailed());
            assertThat(output.text()).contains(told);
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class OwnRule {

        @Bean
        RateLimitRule own(RateLimits limits) {
            return RateLimitRule.named("own")
                    .globalKey()
                    .limiter(limits.limiter("own", TokenBucket.perHour(3)))
                    .build();
        }
    }

    @Test
    void rulesOfTheApplicationAreCountedToo() {
        runner.withUserConfiguration(OwnRule.class)
                .withBean(MeterRegistry.class, SimpleMeterRegistry::new)
                .run(context -> {
                    context.getBean(RateLimitRule.class)
                            .limiter()
                            .tryAcquire("key")
                            .block();
                    assertThat(context.getBean(MeterRegistry.class)
                                    .get("ratelimit.decisions")
                                    .tags("limiter", "own", "outcome", "allowed")
                                    .counter()
                                    .count())
                            .isEqualTo(1);
                });
    }

    @Test
    void twoLimitersOfOneNameAreRefused() {
        runner.withPropertyValues(ONE_LIMIT).run(context -> {
            RateLimits limits = context.getBean(RateLimits.class);
            limits.limiter("own", TokenBucket.perHour(3));
            assertThatIllegalArgumentException().isThrownBy(() -> limits.limiter("own", TokenBucket.perHour(3)));
            assertThatIllegalArgumentException().isThrownBy(() -> limits.limiter("some", TokenBucket.perHour(3)));
        });
    }

    @Test
    void beansOfTheApplicationReplaceOurs() {
        RateLimitEngine own = RateLimitEngine.builder().build();
        DenialCors cors = DenialCors.none();
        RateLimitWebFilter filter = RateLimitWebFilter.of(own).withOrder(7);
        runner.withBean(RateLimitEngine.class, () -> own)
                .withBean(DenialCors.class, () -> cors)
                .withBean("rateLimitWebFilter", RateLimitWebFilter.class, () -> filter)
                .run(context -> {
                    assertThat(context.getBean(RateLimitEngine.class)).isSameAs(own);
                    assertThat(context.getBean(DenialCors.class)).isSameAs(cors);
                    assertThat(context.getBean("rateLimitWebFilter")).isSameAs(filter);
                });
    }

    @Configuration(proxyBeanMethods = false)
    static class OwnEngine {

        @Bean
        RateLimitEngine engine(RateLimits limits, @Value("${takes}") boolean takesThem) {
            return RateLimitEngine.builder()
                    .rules(takesThem ? limits.rules() : List.of())
                    .build();
        }
    }

    @Test
    void limitsThatAnEngineOfTheApplicationLeavesOutAreAMistake() {
        ReactiveWebApplicationContextRunner own =
                runner.withPropertyValues(ONE_LIMIT).withUserConfiguration(OwnEngine.class);
        own.withPropertyValues("takes=false")
                .run(context -> assertThat(context)
                        .getFailure()
                        .isInstanceOf(RateLimitConfigurationException.class)
                        .hasMessageContaining("reactor-ratelimit.limits.some")
                        .hasMessageContaining("RateLimits.rules()"));
        own.withPropertyValues("takes=true").run(context -> assertThat(context).hasNotFailed());
        own.withPropertyValues("takes=false", "reactor-ratelimit.limits.some.explicit-only=true")
                .run(context -> assertThat(context).as("one for routes").hasNotFailed());
    }

    @Test
    void overridesByAddressFollowTheAddressesOfTheApplication() {
        runner.withPropertyValues(ONE_LIMIT)
                .withPropertyValues(
                        "reactor-ratelimit.limits.some.key=ip",
                        "reactor-ratelimit.limits.some.overrides[0].key=192.0.2.0/24",
                        "reactor-ratelimit.limits.some.overrides[0].limit=7 per day")
                .withBean(ClientAddress.class, () -> ClientAddress.ofPeer().withIpv4Prefix(24))
                .run(context -> assertThat(context.getBean(RateLimits.class)
                                .limiter("some")
                                .orElseThrow()
                                .peek("ip:192.0.2.0/24")
                                .block()
                                .remaining())
                        .isEqualTo(7));
    }

    @Test
    void everyoneOnTheAllowListIsWarnedOf() {
        String told = "Every caller is internal";
        try (ConsoleLines output = ConsoleLines.read()) {
            runner.withPropertyValues(ONE_LIMIT)
                    .withPropertyValues("reactor-ratelimit.allow-list.networks=10.0.0.0/8")
                    .run(context -> assertThat(context).hasNotFailed());
            assertThat(output.text()).doesNotContain(told);
            runner.withPropertyValues(ONE_LIMIT)
                    .withPropertyValues("reactor-ratelimit.allow-list.networks=10.0.0.0/8,0.0.0.0/0")
                    .run(context -> assertThat(context).hasNotFailed());
            assertThat(output.text()).contains(told);
        }
    }

    @Test
    void rulesOfTheApplicationComeAfterThoseOfTheConfiguration() {
        RateLimitRule own = RateLimitRule.named("own")
                .globalKey()
                .policy(TokenBucket.perSecond(1))
                .build();
        runner.withPropertyValues(ONE_LIMIT)
                .withBean(RateLimitRule.class, () -> own)
                .run(context -> assertThat(
                                context.getBean(RateLimitEngine.class).rules())
                        .extracting(RateLimitRule::name)
                        .containsExactly("some", "own"));
    }

    @Test
    void limitsAreCountedWhereThereIsARegistry() {
        runner.withPropertyValues(ONE_LIMIT)
                .withBean(MeterRegistry.class, SimpleMeterRegistry::new)
                .run(context -> {
                    context.getBean(RateLimits.class)
                            .limiter("some")
                            .orElseThrow()
                            .tryAcquire("key")
                            .block();
                    assertThat(context.getBean(MeterRegistry.class)
                                    .get("ratelimit.decisions")
                                    .tags("limiter", "some", "outcome", "allowed")
                                    .counter()
                                    .count())
                            .isEqualTo(1);
                });
    }

    @Test
    void recordersOfTheApplicationReplaceThoseOfMicrometer() {
        LimitRecorders own = name -> RateLimitRecorder.NOOP;
        runner.withPropertyValues(ONE_LIMIT)
                .withBean(MeterRegistry.class, SimpleMeterRegistry::new)
                .withBean(LimitRecorders.class, () -> own)
                .run(context ->
                        assertThat(context.getBean(LimitRecorders.class)).isSameAs(own));
    }

    @Test
    void needsNeitherRedisNorTheActuatorNorMicrometer() {
        runner.withPropertyValues(ONE_LIMIT)
                .withClassLoader(new FilteredClassLoader(
                        RedisClient.class,
                        LettuceConnectionFactory.class,
                        Endpoint.class,
                        ReactiveHealthIndicator.class,
                        MeterRegistry.class))
                .run(context -> assertThat(context).hasNotFailed().hasSingleBean(RateLimitEngine.class));
    }

    @Test
    void aServerIsNotForgottenBecauseLettuceIsNotThere() {
        runner.withPropertyValues(ONE_LIMIT)
                .withPropertyValues("reactor-ratelimit.redis.uri=redis://127.0.0.1:1")
                .withClassLoader(new FilteredClassLoader(RedisClient.class))
                .run(context -> assertThat(context)
                        .getFailure()
                        .rootCause()
                        .hasMessageContaining("reactor-ratelimit.redis.uri")
                        .hasMessageContaining("io.lettuce:lettuce-core"));
    }

    /** As one of Jedis. */
    private static final class NotLettuce implements RedisConnectionFactory {

        @Override
        public RedisConnection getConnection() {
            throw new UnsupportedOperationException();
        }

        @Override
        public RedisClusterConnection getClusterConnection() {
            throw new UnsupportedOperationException();
        }

        @Override
        public RedisSentinelConnection getSentinelConnection() {
            throw new UnsupportedOperationException();
        }

        @Override
        public boolean getConvertPipelineAndTxResults() {
            return true;
        }

        @Override
        public @Nullable DataAccessException translateExceptionIfPossible(RuntimeException e) {
            return null;
        }
    }

    @Test
    void aRedisThatLimitsCannotUseIsToldUnlessTheyAreLocal() {
        ReactiveWebApplicationContextRunner other =
                runner.withPropertyValues(ONE_LIMIT).withBean(RedisConnectionFactory.class, NotLettuce::new);
        other.run(context -> assertThat(context)
                .getFailure()
                .rootCause()
                .hasMessageContaining("reactor-ratelimit.redis.uri")
                .hasMessageContaining("not one of Lettuce")
                .hasMessageContaining("reactor-ratelimit.store: local"));
        other.withPropertyValues("reactor-ratelimit.store=local")
                .run(context -> assertThat(context).hasNotFailed());
    }

    @Test
    void aRedisIsToldThatLimitsCannotUseWithoutLettuce() {
        String told = "Rate limits are not shared through the application's Redis";
        ReactiveWebApplicationContextRunner other = runner.withPropertyValues(ONE_LIMIT)
                .withClassLoader(new FilteredClassLoader(RedisClient.class))
                .withBean(RedisConnectionFactory.class, NotLettuce::new);
        try (ConsoleLines output = ConsoleLines.read()) {
            other.withPropertyValues("reactor-ratelimit.store=local")
                    .run(context -> assertThat(context).hasNotFailed());
            assertThat(output.text()).doesNotContain(told);
            other.run(context -> assertThat(context).hasNotFailed());
            assertThat(output.text()).contains(told);
        }
    }

    @Test
    void nobodyConnectsToRedisForLocalLimits() {
        runner.withPropertyValues(ONE_LIMIT)
                .withPropertyValues("reactor-ratelimit.redis.uri=redis://127.0.0.1:1", "reactor-ratelimit.store=local")
                .run(context ->
                        assertThat(context.getBean(RateLimits.class).shared()).isNull());
    }

    @Test
    void aServerThatIsNotThereIsToldByLogAndHealthAndNotWithItsPassword() {
        try (ConsoleLines output = ConsoleLines.read()) {
            runner.withPropertyValues(ONE_LIMIT)
                    .withPropertyValues("reactor-ratelimit.redis.uri=redis://user:hunter2@127.0.0.1:1")
                    .run(context -> {
                        String told = "cannot connect to Redis at 127.0.0.1:1";
                        Await.until("the log tells", () -> output.text().contains(told));
                        Health health = context.getBean(RateLimitHealthIndicator.class)
                                .health()
                                .block();
                        assertThat(health.getStatus().getCode()).isEqualTo("DEGRADED");
                        assertThat(health.getDetails().toString())
                                .contains(told)
                                .doesNotContain("hunter2");
                        assertThat(output.text()).doesNotContain("hunter2");
                    });
        }
    }

    @Test
    void theHealthOfALocalStoreIsUp() {
        runner.withPropertyValues(ONE_LIMIT)
                .run(context -> assertThat(context.getBean(RateLimitHealthIndicator.class)
                                .health()
                                .block()
                                .getStatus()
                                .getCode())
                        .isEqualTo("UP"));
    }
}
