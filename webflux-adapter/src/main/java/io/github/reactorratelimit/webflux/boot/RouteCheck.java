package io.github.reactorratelimit.webflux.boot;

import io.github.reactorratelimit.webflux.gateway.GatewayRateLimiter;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.cloud.gateway.config.GatewayProperties;
import org.springframework.cloud.gateway.filter.FilterDefinition;
import org.springframework.cloud.gateway.route.RouteDefinition;
import reactor.util.Logger;
import reactor.util.Loggers;

/** Looks for mistakes in the limits of the routes that are configured. The gateway applies its default filters to each of them, under its id. */
final class RouteCheck {

    private static final String FILTER = "RequestRateLimiter";
    private static final String BEAN = "rateLimiter";
    private static final String OUR_BEAN = "#{@gatewayRateLimiter}";

    private static final Logger LOG = Loggers.getLogger(RateLimits.class);

    private RouteCheck() {}

    static void check(GatewayProperties routes, GatewayRateLimiter limiter, RateLimits limits) {
        for (RouteDefinition route : routes.getRoutes()) {
            List<FilterDefinition> ours = Stream.concat(
                            routes.getDefaultFilters().stream(), route.getFilters().stream())
                    .filter(filter -> FILTER.equals(filter.getName()) && !isOfAnother(filter.getArgs()))
                    .toList();
            String id = route.getId();
            String at = id == null ? "route to " + route.getUri() : "route '" + id + "'";
            PropertyChecks.check(
                    ours.size() <= 1,
                    at,
                    "has more than one " + FILTER
                            + ", default-filters included: a gateway knows one limit per route, so that the last one would"
                            + " count every request several times. Leave one, and use reactor-ratelimit.limits with paths for the others");
            if (id != null && !ours.isEmpty() && !isKnownLater(ours.get(0).getArgs())) {
                PropertyChecks.of(at, () -> {
                    limiter.check(id, ours.get(0).getArgs());
                    return id;
                });
                tellIfOfTheFilter(id, limiter.getConfig().get(id), limits);
            }
        }
    }

    private static void tellIfOfTheFilter(String id, GatewayRateLimiter.@Nullable Config said, RateLimits limits) {
        String name = said == null || said.getUse() == null ? id : said.getUse();
        ConfiguredLimit limit = limits.find(name);
        if (limit != null && !limit.rule().explicitOnly()) {
            LOG.warn(
                    "Route '{}' names the limit '{}', which is for the filter too: where both apply, a request counts once, by the key of"
                            + " the limit and not by that of the route. Leave it to routes with explicit-only: true",
                    id,
                    name);
        }
    }

    /** Whether the gateway finds what is said about the limit by an expression, when it loads the route. */
    private static boolean isKnownLater(Map<String, String> arguments) {
        return arguments.entrySet().stream()
                .anyMatch(argument -> argument.getKey().startsWith(GatewayRateLimiter.ARGUMENTS + ".")
                        && argument.getValue().strip().startsWith("#{")
                        && argument.getValue().endsWith("}"));
    }

    private static boolean isOfAnother(Map<String, String> arguments) {
        return arguments.entrySet().stream()
                .anyMatch(argument -> argument.getKey().replace("-", "").equalsIgnoreCase(BEAN)
                        && !OUR_BEAN.equals(argument.getValue().strip()));
    }
}
