package io.github.reactorratelimit.webflux.boot;

import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.webflux.RateLimitEngine;
import io.github.reactorratelimit.webflux.RateLimitRule;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import reactor.core.publisher.Mono;

/** Also changes limits, and pauses and resets keys: for operators who allow that by {@code ratelimit.actuator.writable}. */
@Endpoint(id = "ratelimits")
public class WritableRateLimitsEndpoint extends RateLimitsEndpoint {

    private final RateLimitEngine engine;
    private final RateLimits limits;

    WritableRateLimitsEndpoint(RateLimitEngine engine, RateLimits limits) {
        super(engine, limits);
        this.engine = engine;
        this.limits = limits;
    }

    /**
     * Changes a limit, or one of its keys. What clients have spent is kept. Where the limit is local, that lasts until the application starts
     * again; in Redis it outlives the application and rules in all instances, whatever is configured, until it is changed again or an instance
     * comes with a higher {@code ratelimit.redis.policy-epoch}.
     *
     * @param name of the limit
     * @param limit other numbers, such as {@code 50 per minute}
     * @param burst permits that may be taken at once, with {@code limit}
     * @param key whose, for the others
     * @param pause denies the key everything for so long; zero ends a pause
     * @param reset whether to forget what the key has spent
     * @return the limit as it is then
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
        boolean forgets = Boolean.TRUE.equals(reset);
        require(limit != null || pause != null || forgets, "say what to change: limit, or key and pause or reset");
        require(burst == null || limit != null, "burst is for a limit");
        require((key != null) == (pause != null || forgets), "key is for pause and reset, which need one");
        return numbers(name, limit, burst)
                .then(Mono.defer(() -> keys(rule.limiter(), key, pause, forgets)))
                .onErrorMap(IllegalArgumentException.class, reason -> refused(String.valueOf(reason.getMessage())))
                .then(Mono.defer(() -> limit(name)));
    }

    private Mono<Void> numbers(String name, @Nullable String limit, @Nullable Long burst) {
        return limit == null ? Mono.empty() : Mono.defer(() -> limits.change(name, Rate.parse(limit), burst));
    }

    private static Mono<Void> keys(RateLimiter limiter, @Nullable String key, @Nullable Duration pause, boolean reset) {
        if (key == null) {
            return Mono.empty();
        }
        Mono<Void> forgotten = reset ? limiter.reset(key) : Mono.empty();
        return pause == null ? forgotten : forgotten.then(Mono.defer(() -> limiter.pause(key, pause)));
    }

    private static void require(boolean condition, String otherwise) {
        if (!condition) {
            throw refused(otherwise);
        }
    }

    private static InvalidEndpointRequestException refused(String reason) {
        return new InvalidEndpointRequestException(reason, reason);
    }
}
