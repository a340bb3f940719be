package io.github.reactorratelimit.webflux.boot;

import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimitStore;
import io.github.reactorratelimit.local.LocalStore;
import io.github.reactorratelimit.webflux.boot.LimitProperties.StoreKind;
import io.github.reactorratelimit.webflux.boot.LimitProperties.WhenUnavailable;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Chooses where each limit lives. */
final class LimitStores {

    private final RateLimitProperties properties;
    private final RateLimitStore local;
    private final @Nullable Supplier<SharedStore> redis;
    private @Nullable SharedStore shared;

    /**
     * @param redis connects to Redis if need be; null if there is none
     */
    LimitStores(RateLimitProperties properties, @Nullable Supplier<SharedStore> redis) {
        this.properties = properties;
        this.local = Properties.of("ratelimit.max-keys", () -> LocalStore.withMaxKeys(properties.maxKeys()));
        this.redis = redis;
        boolean named = properties.redis().uri() != null
                || !Properties.orNone(properties.redis().clusterUris()).isEmpty();
        Properties.check(
                redis != null || !named,
                "ratelimit.redis.uri",
                "needs Lettuce, which is not on the class path: add io.lettuce:lettuce-core");
    }

    /** Where a limit lives: as it says, or as all do, or in Redis if there is one. */
    StoreKind kind(LimitProperties limit) {
        if (limit.store() != null) {
            return limit.store();
        }
        if (properties.store() != null) {
            return properties.store();
        }
        return redis == null ? StoreKind.LOCAL : StoreKind.REDIS;
    }

    RateLimitStore of(LimitProperties limit, RateLimitPolicy policy, String at) {
        if (kind(limit) == StoreKind.LOCAL) {
            Properties.check(
                    limit.whenUnavailable() == null,
                    at + ".when-unavailable",
                    "is only for limits in Redis, and this one is local");
            return local;
        }
        Supplier<SharedStore> server = Properties.required(
                redis,
                limit.store() == null ? "ratelimit.store" : at + ".store",
                "is redis, but there is none: set ratelimit.redis.uri, or spring-boot-starter-data-redis");
        WhenUnavailable mode =
                limit.whenUnavailable() == null ? properties.redis().whenUnavailable() : limit.whenUnavailable();
        RateLimitPolicy share = mode == WhenUnavailable.LOCAL ? share(policy, at) : null;
        if (shared == null) {
            shared = server.get();
        }
        return shared.store(mode, share);
    }

    /** What limits share with other instances; null if none does. */
    @Nullable
    SharedStore shared() {
        return shared;
    }

    private RateLimitPolicy share(RateLimitPolicy policy, String at) {
        Integer instances = Properties.required(
                properties.redis().instances(),
                "ratelimit.redis.instances",
                "is needed: while Redis is away each instance gives out its share of the limit");
        return Properties.of(at + ".limit", () -> policy.share(instances));
    }
}
