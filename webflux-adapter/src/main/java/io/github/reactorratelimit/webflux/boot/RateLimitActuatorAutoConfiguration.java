package io.github.reactorratelimit.webflux.boot;

import io.github.reactorratelimit.webflux.RateLimitEngine;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint;
import org.springframework.boot.actuate.autoconfigure.web.server.ManagementPortType;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.web.PathMappedEndpoints;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.health.autoconfigure.contributor.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.health.contributor.ReactiveHealthIndicator;
import org.springframework.boot.web.server.context.WebServerApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;

/** Shows the limits and how their store is, where the application has the Actuator. */
@AutoConfiguration(after = RateLimitAutoConfiguration.class)
@ConditionalOnBean({RateLimits.class, RateLimitEngine.class})
public class RateLimitActuatorAutoConfiguration {

    /** The endpoint. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass({Endpoint.class, ConditionalOnAvailableEndpoint.class})
    static class Shown {

        @Bean
        @ConditionalOnMissingBean(name = "rateLimitsEndpoint")
        @ConditionalOnAvailableEndpoint(endpoint = RateLimitsEndpoint.class)
        RateLimitsEndpoint rateLimitsEndpoint(RateLimitEngine engine, RateLimits limits) {
            return new RateLimitsEndpoint(engine, limits);
        }
    }

    /** Endpoints are outside of limits without paths. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass({PathMappedEndpoints.class, ManagementPortType.class, WebServerApplicationContext.class})
    static class Managed {

        @Bean
        @ConditionalOnMissingBean(name = "rateLimitManagementRequests")
        ManagementRequests rateLimitManagementRequests(
                ObjectProvider<PathMappedEndpoints> endpoints, Environment environment) {
            return new ManagementRequests(
                    endpoints, ManagementPortType.get(environment) == ManagementPortType.DIFFERENT);
        }
    }

    /** The health of the store. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass({ReactiveHealthIndicator.class, ConditionalOnEnabledHealthIndicator.class})
    static class Healthy {

        @Bean
        @ConditionalOnMissingBean(name = "rateLimitsHealthIndicator")
        @ConditionalOnEnabledHealthIndicator("ratelimits")
        RateLimitHealthIndicator rateLimitsHealthIndicator(RateLimits limits) {
            return new RateLimitHealthIndicator(limits);
        }
    }
}
