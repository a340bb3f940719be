package io.github.reactorratelimit.webflux.boot;

import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.webflux.RateLimitEngine;
import io.github.reactorratelimit.webflux.RateLimitRule;
import java.time.Duration;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.Access;
import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * Shows the limits in effect, what they decided, and their hot keys: {@code /actuator/ratelimits}. With {@code
 * management.endpoint.ratelimits.access: unrestricted} it also changes limits, and pauses and resets keys.
 */
@Endpoint(id = "ratelimits", defaultAccess = Access.READ_ONLY)
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

    /**
     * Changes a limit, or one of its keys. Usage so far is kept. A change of a local limit lasts until the application
     * restarts; in Redis it outlives the application and is in effect in all instances, whatever is configured, until it
     * is changed again or an instance has a higher {@code reactor-ratelimit.redis.policy-epoch}.
     *
     * @param name of the limit
     * @param limit other numbers, such as {@code 50 per minute}
     * @param burst permits that may be taken at once, with {@code limit}
     * @param key of pause and reset
     * @param pause denies every request of the key for this time; zero ends a pause
     * @param reset whether to clear the usage of the key
     * @return the limit after the change
     */
    @WriteOperation
    public Mono<LimitDescription> change(
            @Selector String name,
            @Nullable String limit,
            @Nullable Long burst,
            @Nullable String key,
            @Nullable Duration pause,
            @Nullable Boolean reset) {
        RateLimitRule rule = engine.rule(name).orElseThrow(() -> refused("there is no limit of this name"));
        boolean resets = Boolean.TRUE.equals(reset);
        require(limit != null || pause != null || resets, "say what to change: limit, or key and pause or reset");
        require(burst == null || limit != null, "burst is for a limit");
        require((key != null) == (pause != null || resets), "key is for pause and reset, which need one");
        Mono<Void> changed =
                limit == null ? Mono.empty() : Mono.defer(() -> limits.change(name, Rate.parse(limit), burst));
        return changed.then(Mono.defer(() -> change(rule.limiter(), key, pause, resets)))
                .onErrorMap(IllegalArgumentException.class, reason -> refused(String.valueOf(reason.getMessage())))
                .then(Mono.defer(() -> limit(name)));
    }

    private static Mono<Void> change(
            RateLimiter limiter, @Nullable String key, @Nullable Duration pause, boolean reset) {
        if (key == null) {
            return Mono.empty();
        }
        Mono<Void> cleared = reset ? limiter.reset(key) : Mono.empty();
        return pause == null ? cleared : cleared.then(Mono.defer(() -> limiter.pause(key, pause)));
    }

    private static void require(boolean condition, String otherwise) {
        if (!condition) {
            throw refused(otherwise);
        }
    }

    private static InvalidEndpointRequestException refused(String reason) {
        return new InvalidEndpointRequestException(reason, reason);
    }

    private Mono<LimitDescription> describe(RateLimitRule rule) {
        ConfiguredLimit configured = limits.find(rule.name());
        ManagedLimiter limiter = configured == null ? limits.own(rule) : configured.hard();
        String policy = rule.limiter().policy().toString();
        if (limiter == null) {
            return Mono.just(new LimitDescription(rule.name(), policy, rule.paths(), null, null, null, null));
        }
        LimitStatistics statistics = limiter.statistics();
        return statistics
                .mostUsed()
                .zipWith(statistics.mostDenied(), LimitDescription.HotKeySummary::new)
                .map(hotKeys -> new LimitDescription(
                        rule.name(),
                        policy,
                        rule.paths(),
                        configured == null ? null : keyOf(configured),
                        PropertyChecks.written(limiter.store()),
                        new LimitDescription.Statistics(
                                statistics.allowed(), statistics.denied(), statistics.permitsTaken()),
                        hotKeys));
    }

    private static String keyOf(ConfiguredLimit limit) {
        return PropertyChecks.orNone(limit.properties().key()).stream()
                .map(LimitKey::toString)
                .collect(Collectors.joining(", "));
    }
}
