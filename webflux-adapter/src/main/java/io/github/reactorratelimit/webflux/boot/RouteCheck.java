package io.github.reactorratelimit.webflux.boot;

import io.github.reactorratelimit.webflux.gateway.GatewayRateLimiter;
import java.util.Map;
import org.springframework.cloud.gateway.config.GatewayProperties;
import org.springframework.cloud.gateway.filter.FilterDefinition;
import org.springframework.cloud.gateway.route.RouteDefinition;

/** Looks for mistakes in the limits of the routes that are configured. */
final class RouteCheck {

    private static final String FILTER = "RequestRateLimiter";
    private static final String OTHER_BEAN = "rate-limiter";

    private RouteCheck() {}

    static void check(GatewayProperties routes, GatewayRateLimiter limiter) {
        for (RouteDefinition route : routes.getRoutes()) {
            for (FilterDefinition filter : route.getFilters()) {
                String id = route.getId();
                if (id != null && FILTER.equals(filter.getName()) && !isOfAnother(filter.getArgs())) {
                    Properties.of("route '" + id + "'", () -> {
                        limiter.check(id, filter.getArgs());
                        return id;
                    });
                }
            }
        }
    }

    private static boolean isOfAnother(Map<String, String> arguments) {
        return arguments.keySet().stream()
                .anyMatch(name -> name.replace("-", "").equalsIgnoreCase(OTHER_BEAN.replace("-", "")));
    }
}
