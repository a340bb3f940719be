package io.github.reactorratelimit.webflux.boot;

import io.github.reactorratelimit.webflux.RateLimitEngine;
import io.github.reactorratelimit.webflux.gateway.GatewayRateLimiter;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.cloud.gateway.config.GatewayProperties;
import org.springframework.cloud.gateway.filter.GlobalFilter;
import org.springframework.cloud.gateway.filter.ratelimit.RateLimiter;
import org.springframework.cloud.gateway.support.ConfigurationService;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.Lazy;
import org.springframework.context.annotation.Primary;

/**
 * Our limits as the rate limiter of Spring Cloud Gateway, where that is on the class path. Comes before the gateway's own configuration, which has the
 * filter only if there is a rate limiter; it is the primary one, because the gateway has another whenever there is Redis. It is only made if the gateway wants it:
 * the application may have excluded the gateway's configuration, and with it what the limiter needs.
 */
@AutoConfiguration(
        beforeName = {
            "org.springframework.cloud.gateway.config.GatewayAutoConfiguration",
            "org.springframework.cloud.gateway.config.GatewayRedisAutoConfiguration"
        })
@ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.REACTIVE)
@ConditionalOnClass(RateLimiter.class)
@ConditionalOnProperty(
        name = {"reactor-ratelimit.gateway.enabled", "spring.cloud.gateway.server.webflux.enabled"},
        matchIfMissing = true)
public class RateLimitGatewayAutoConfiguration {

    /** Routes are limited. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnProperty(prefix = "reactor-ratelimit", name = "enabled", matchIfMissing = true)
    static class Limited {

        @Lazy
        @Bean
        @Primary
        @ConditionalOnMissingBean(RateLimiter.class)
        GatewayRateLimiter gatewayRateLimiter(
                RateLimitEngine engine, RateLimits limits, ConfigurationService configurationService) {
            return new GatewayRateLimiter(engine, new RouteLimits(limits), configurationService);
        }

        /** The gateway's filter does not tell the request to the rate limiter, which has to know its connection's thread and what it holds. */
        @Bean
        @ConditionalOnBean(GatewayRateLimiter.class)
        @ConditionalOnMissingBean(name = "gatewayExchangeInContext")
        GlobalFilter gatewayExchangeInContext() {
            return new ExchangeInContext();
        }

        /** A mistake in a route that is configured is found now, and not by the first request. */
        @Bean
        @ConditionalOnMissingBean(name = "gatewayRateLimiterCheck")
        SmartInitializingSingleton gatewayRateLimiterCheck(
                ObjectProvider<GatewayRateLimiter> limiter,
                ObjectProvider<GatewayProperties> routes,
                RateLimits limits) {
            return () -> routes.ifAvailable(all -> limiter.ifAvailable(ours -> RouteCheck.check(all, ours, limits)));
        }
    }

    /** Limits are turned off. Routes name our rate limiter all the same, and their keys the address of a client: without these nothing would pass. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnProperty(prefix = "reactor-ratelimit", name = "enabled", havingValue = "false")
    @Import(ClientAddressConfiguration.class)
    static class Unlimited {

        @Lazy
        @Bean
        @Primary
        @ConditionalOnMissingBean(RateLimiter.class)
        GatewayRateLimiter gatewayRateLimiter(ConfigurationService configurationService) {
            return GatewayRateLimiter.allowingAll(configurationService);
        }
    }
}
