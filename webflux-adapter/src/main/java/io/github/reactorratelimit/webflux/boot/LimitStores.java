package io.github.reactorratelimit.webflux.boot;

import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimitStore;
import io.github.reactorratelimit.local.LocalStore;
import io.github.reactorratelimit.webflux.FailureAction;
import io.github.reactorratelimit.webflux.boot.LimitProperties.StoreKind;
import io.github.reactorratelimit.webflux.boot.LimitProperties.WhenUnavailable;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Chooses where each limit lives. */
final class LimitStores {

    private final RateLimitProperties properties;
    private final RateLimitStore local;
    private final @Nullable Supplier<SharedStore> redis;
    private final AtomicReference<@Nullable SharedStore> shared = new AtomicReference<>();

    /**
     * @param redis connects to Redis if need be; null if there is none
     */
    LimitStores(RateLimitProperties properties, @Nullable Supplier<SharedStore> redis) {
        this.properties = properties;
        this.local =
                PropertyChecks.of("reactor-ratelimit.max-keys", () -> LocalStore.withMaxKeys(properties.maxKeys()));
        this.redis = redis;
    }

    /** Where a limit lives: as it says, or as all do, or in Redis if there is one. */
    StoreKind kind(LimitProperties limit) {
        return limit.store() == null ? standardKind() : limit.store();
    }

    /** @param prepaid for how long permits are debited ahead; null if they are not */
    RateLimitStore of(LimitProperties limit, @Nullable Duration prepaid, RateLimitPolicy policy, String at) {
        StoreKind kind = kind(limit);
        onlyInRedis(limit.prepaid(), kind, at + ".prepaid");
        onlyInRedis(limit.whenUnavailable(), kind, at + ".when-unavailable");
        String property = limit.store() == null ? "reactor-ratelimit.store" : at + ".store";
        return of(kind, property, whenUnavailable(limit), prepaid, policy, at);
    }

    private static void onlyInRedis(@Nullable Object value, StoreKind kind, String property) {
        PropertyChecks.check(
                value == null || kind == StoreKind.REDIS,
                property,
                "is only for limits in Redis, and this one is local");
    }

    /** For a limiter of the application itself: where limits live that do not say so. */
    RateLimitStore standard(RateLimitPolicy policy, String at) {
        return of(standardKind(), "reactor-ratelimit.store", properties.redis().whenUnavailable(), null, policy, at);
    }

    StoreKind standardKind() {
        if (properties.store() != null) {
            return properties.store();
        }
        return redis == null ? StoreKind.LOCAL : StoreKind.REDIS;
    }

    private RateLimitStore of(
            StoreKind kind,
            String property,
            WhenUnavailable mode,
            @Nullable Duration prepaid,
            RateLimitPolicy policy,
            String at) {
        if (kind == StoreKind.LOCAL) {
            return local;
        }
        Supplier<SharedStore> server = PropertyChecks.required(
                redis,
                property,
                "is redis, but there is none: set reactor-ratelimit.redis.uri, or spring-boot-starter-data-redis");
        Integer instances = mode == WhenUnavailable.LOCAL ? instances(policy, at) : null;
        SharedStore store = shared(server);
        return PropertyChecks.of(at + ".prepaid", () -> store.store(mode, instances, prepaid));
    }

    private WhenUnavailable whenUnavailable(LimitProperties limit) {
        return limit.whenUnavailable() == null ? properties.redis().whenUnavailable() : limit.whenUnavailable();
    }

    /** What happens to requests if the limiter fails: as the limit says, otherwise they pass if they also pass while Redis is unavailable. */
    FailureAction onFailure(LimitProperties limit) {
        if (limit.onFailure() != null) {
            return limit.onFailure();
        }
        boolean isOpen = kind(limit) == StoreKind.REDIS && whenUnavailable(limit) == WhenUnavailable.OPEN;
        return isOpen ? FailureAction.ALLOW : FailureAction.DENY;
    }

    /** Connects once: limits of routes may be the first at the same time. */
    private SharedStore shared(Supplier<SharedStore> server) {
        SharedStore known = shared.get();
        if (known != null) {
            return known;
        }
        SharedStore connected = server.get();
        if (shared.compareAndSet(null, connected)) {
            return connected;
        }
        connected.close().subscribe();
        return Objects.requireNonNull(shared.get());
    }

    /** Connects again after the connections were closed. Limiters need new stores. */
    void reconnect() {
        shared.set(Objects.requireNonNull(redis).get());
    }

    /** What limits share with other instances; null if none does. */
    @Nullable
    SharedStore shared() {
        return shared.get();
    }

    private Integer instances(RateLimitPolicy policy, String at) {
        Integer instances = PropertyChecks.required(
                properties.redis().instances(),
                "reactor-ratelimit.redis.instances",
                "is needed: while Redis is unavailable each instance grants its share of the limit");
        PropertyChecks.of(at + ".limit", () -> policy.share(instances));
        return instances;
    }
}
