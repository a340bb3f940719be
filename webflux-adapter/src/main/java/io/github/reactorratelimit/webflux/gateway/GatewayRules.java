package io.github.reactorratelimit.webflux.gateway;

import io.github.reactorratelimit.webflux.RateLimitRule;
import org.jspecify.annotations.Nullable;

/** Yields the rule of a route. */
@FunctionalInterface
public interface GatewayRules {

    /**
     * The rule that limits the requests of a route now. Asked for every request: yields the same rule, with the same limiter, as long as the
     * configuration is the same.
     *
     * @param config what the route says; null if it says nothing
     * @throws RuntimeException if there is none, saying what to configure
     */
    RateLimitRule of(String routeId, GatewayRateLimiter.@Nullable Config config);
}
