package io.github.reactorratelimit.webflux.boot;

import io.github.reactorratelimit.webflux.RateLimitEngine;
import io.github.reactorratelimit.webflux.RateLimitRule;
import io.github.reactorratelimit.webflux.boot.LimitProperties.StoreKind;
import java.util.Locale;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Shows the limits as they rule now, what they answered, and which keys stand out: {@code /actuator/ratelimits}. */
@Endpoint(id = "ratelimits")
public class RateLimitsEndpoint {

    private final RateLimitEngine engine;
    private final RateLimits limits;

    RateLimitsEndpoint(RateLimitEngine engine, RateLimits limits) {
        this.engine = engine;
        this.limits = limits;
    }

    /** All limits, in the order in which they are asked. */
    @ReadOperation
    public Mono<LimitDescription.All> limits() {
        return Flux.fromIterable(engine.rules())
                .concatMap(this::describe)
                .collectList()
                .map(LimitDescription.All::new);
    }

    /** The limit of this name; empty if there is none. */
    @ReadOperation
    public Mono<LimitDescription> limit(@Selector String name) {
        return Mono.justOrEmpty(engine.rule(name)).flatMap(this::describe);
    }

    private Mono<LimitDescription> describe(RateLimitRule rule) {
        ConfiguredLimit configured = limits.find(rule.name());
        if (configured != null) {
            return describe(rule, keyOf(configured), configured.store(), configured.figures());
        }
        LimitFactory.OwnLimiter own = limits.own(rule);
        return own == null
                ? Mono.just(new LimitDescription(
                        rule.name(), rule.limiter().policy().toString(), rule.paths(), null, null, null, null))
                : describe(rule, null, own.store(), own.figures());
    }

    private static Mono<LimitDescription> describe(
            RateLimitRule rule, @Nullable String key, StoreKind store, LimitFigures figures) {
        return figures.mostUsed()
                .zipWith(figures.mostDenied(), LimitDescription.StandingOut::new)
                .map(hotKeys -> new LimitDescription(
                        rule.name(),
                        rule.limiter().policy().toString(),
                        rule.paths(),
                        key,
                        store.name().toLowerCase(Locale.ROOT),
                        new LimitDescription.Figures(figures.allowed(), figures.denied(), figures.permitsTaken()),
                        hotKeys));
    }

    private static String keyOf(ConfiguredLimit limit) {
        return Properties.orNone(limit.properties().key()).stream()
                .map(LimitKey::toString)
                .collect(Collectors.joining(", "));
    }
}
