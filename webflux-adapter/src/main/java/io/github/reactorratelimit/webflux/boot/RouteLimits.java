package io.github.reactorratelimit.webflux.boot;

import io.github.reactorratelimit.webflux.RateLimitRule;
import io.github.reactorratelimit.webflux.gateway.GatewayRateLimiter;
import io.github.reactorratelimit.webflux.gateway.GatewayRateLimiter.Config;
import io.github.reactorratelimit.webflux.gateway.GatewayRules;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.BindException;
import org.springframework.boot.context.properties.source.ConfigurationPropertyName.Form;
import org.springframework.core.NestedExceptionUtils;
import reactor.util.Logger;
import reactor.util.Loggers;

/**
 * The limits of the gateway's routes: those of {@code reactor-ratelimit.limits} that a route names or that have its
 * name, and those that a route describes, made on first use. Routes may change while the application runs: usage so far
 * is kept if only the settings of the limit differ, otherwise the limit is replaced. A change that fails, because Redis
 * is unavailable, is tried again at the next refresh of routes, not by every request.
 */
final class RouteLimits implements GatewayRules {

    private static final Logger LOG = Loggers.getLogger(RateLimits.class);

    private final RateLimits limits;
    private final Map<String, Made> made = new ConcurrentHashMap<>();

    /**
     * A limit.
     *
     * @param said the arguments of the route when it was made or changed
     * @param failed the last change that failed; the gateway makes another object when it reads the route again
     */
    private record Made(Map<String, String> said, ConfiguredLimit limit, AtomicReference<@Nullable Config> failed) {

        Made(Map<String, String> said, ConfiguredLimit limit) {
            this(said, limit, new AtomicReference<>());
        }

        boolean isOf(Map<String, String> now, Config config) {
            Config lastFailed = failed.get();
            return said.equals(now) && (lastFailed == null || lastFailed == config);
        }
    }

    RouteLimits(RateLimits limits) {
        this.limits = limits;
    }

    @Override
    public RateLimitRule of(String routeId, @Nullable Config config) {
        if (config == null) {
            return named(routeId, null);
        }
        Map<String, String> said = config.numbers();
        if (said.isEmpty()) {
            return named(routeId, config.getUse());
        }
        PropertyChecks.check(
                config.getUse() == null,
                at(routeId) + ".use",
                "names a limit, which has its own numbers: choose either that or limit");
        Made now = made.get(routeId);
        return now != null && now.isOf(said, config) ? now.limit().rule() : changed(routeId, said, config);
    }

    private static String at(String routeId) {
        return "route '" + routeId + "': " + GatewayRateLimiter.ARGUMENTS;
    }

    private RateLimitRule named(String routeId, @Nullable String name) {
        ConfiguredLimit limit = limits.find(name == null ? routeId : name);
        if (limit == null) {
            throw new RateLimitConfigurationException(
                    at(routeId),
                    name == null
                            ? "says nothing about its limit: give its RequestRateLimiter the argument ratelimit.limit or ratelimit.use,"
                                    + " or reactor-ratelimit.limits one of the name of the route; or set reactor-ratelimit.gateway.enabled: false, to use"
                                    + " the rate limiter of another bean"
                            : "names '" + name + "', and there is no such limit in reactor-ratelimit.limits");
        }
        return limit.rule();
    }

    private RateLimitRule changed(String routeId, Map<String, String> said, Config config) {
        return made.compute(routeId, (id, before) -> {
                    if (before == null) {
                        return new Made(said, make(id, said));
                    }
                    return before.isOf(said, config) ? before : changed(before, id, said, config);
                })
                .limit()
                .rule();
    }

    private Made changed(Made before, String routeId, Map<String, String> said, Config config) {
        LimitProperties wanted = properties(routeId, said);
        LimitSettings numbers = limits.factory().settings(wanted, at(routeId));
        ConfiguredLimit limit = before.limit();
        if (!limit.properties().fixed().equals(wanted.fixed()) || limit.isOfAnotherKind(numbers)) {
            ConfiguredLimit replacement = make(routeId, said);
            limits.discard(limit);
            return new Made(said, replacement);
        }
        Made after = new Made(said, limit);
        limit.change(numbers).subscribe(done -> LOG.info("The limit of route '{}' was changed", routeId), error -> {
            after.failed.set(config);
            LOG.error(
                    "The limit of route '{}' could not be changed; the next refresh of routes tries again",
                    routeId,
                    error);
        });
        return after;
    }

    private ConfiguredLimit make(String routeId, Map<String, String> said) {
        PropertyChecks.check(
                limits.find(routeId) == null,
                at(routeId),
                "has numbers, and there is a limit of the name of the route in reactor-ratelimit.limits: choose one");
        LimitProperties wanted = properties(routeId, said);
        PropertyChecks.check(
                wanted.algorithm() != LimitProperties.Algorithm.CONCURRENCY,
                at(routeId) + ".algorithm",
                "cannot be concurrency: a gateway does not say when a request has ended. Use a limit with paths");
        return limits.make(routeId, wanted, at(routeId));
    }

    /** Its key is the gateway's. */
    private static LimitProperties properties(String routeId, Map<String, String> said) {
        Map<String, Object> all = new LinkedHashMap<>(said);
        all.put("key", "all");
        try {
            return PropertyReader.read(all);
        } catch (BindException unreadable) {
            String reason = RateLimitConfigurationFailureAnalyzer.reasonOf(unreadable);
            throw new RateLimitConfigurationException(
                    at(routeId) + "." + unreadable.getName().getLastElement(Form.DASHED),
                    reason == null
                            ? String.valueOf(NestedExceptionUtils.getMostSpecificCause(unreadable)
                                    .getMessage())
                            : reason,
                    unreadable);
        }
    }
}
