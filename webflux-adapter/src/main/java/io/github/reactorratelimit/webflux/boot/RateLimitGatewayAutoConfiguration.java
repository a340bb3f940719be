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
import org.springframework.cloud.gateway.filter.ratelimit.RateLimiter;
import org.springframework.cloud.gateway.support.ConfigurationService;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.Lazy;
import org.springframework.context.annotation.Primary;
import org.springframework.web.filter.reactive.ServerWebExchangeContextFilter;

/**
 * Makes limits the rate limiter of Spring Cloud Gateway, if that is on the class path. It comes before the gateway's
 * configuration, which has the filter only if there is a rate limiter. The limiter is primary, because with Redis the
 * gateway has another. It is lazy, because the application may have excluded the configuration it depends on.
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

        /** The gateway's filter passes no request to the rate limiter, which needs its event loop and its permits. */
        @Bean
        @ConditionalOnBean(GatewayRateLimiter.class)
        @ConditionalOnMissingBean
        ServerWebExchangeContextFilter gatewayExchangeInContext() {
            return new ServerWebExchangeContextFilter();
        }

        /** A mistake in a configured route keeps the application from starting. */
        @Bean
        @ConditionalOnMissingBean(name = "gatewayRateLimiterCheck")
        SmartInitializingSingleton gatewayRateLimiterCheck(
                ObjectProvider<GatewayRateLimiter> limiter,
                ObjectProvider<GatewayProperties> routes,
                RateLimits limits) {
            return () -> routes.ifAvailable(all -> limiter.ifAvailable(ours -> RouteCheck.check(all, ours, limits)));
        }
    }

    /** Limits are turned off. Routes still refer to our rate limiter and to the client address, so both must be there. */
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
