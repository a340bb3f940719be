package io.github.reactorratelimit.webflux.boot;

import io.github.reactorratelimit.RateLimitStore;
import io.github.reactorratelimit.redis.FailureMode;
import io.github.reactorratelimit.redis.RedisStore;
import io.github.reactorratelimit.redis.SelfTest;
import io.github.reactorratelimit.webflux.boot.LimitProperties.WhenUnavailable;
import io.lettuce.core.AbstractRedisClient;
import io.lettuce.core.RedisClient;
import io.lettuce.core.cluster.RedisClusterClient;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** Limits in Redis, on connections of their own. */
final class RedisSharedStore implements SharedStore {

    private final RedisStore store;

    /** Once: the end of the application and that of the bean both ask for it. */
    private final Mono<Void> closing;

    private RedisSharedStore(RedisStore store, RateLimitProperties.Redis properties, @Nullable String application) {
        String prefix = properties.prefix() == null ? prefixOf(application) : properties.prefix();
        RedisStore prefixed = Properties.of("ratelimit.redis.prefix", () -> store.withPrefix(prefix));
        RedisStore ruled =
                Properties.of("ratelimit.redis.policy-epoch", () -> prefixed.withPolicyEpoch(properties.policyEpoch()));
        this.store = Properties.of("ratelimit.redis.deadline", () -> ruled.withDeadline(properties.deadline()));
        this.closing = store.close().cache();
    }

    /** Applications that share a server do not share limits that happen to have one name. */
    private static String prefixOf(@Nullable String application) {
        return application == null || application.isBlank() ? "ratelimit" : "ratelimit:" + application.strip();
    }

    /**
     * On a server for the limits alone. Nobody waits for it: it is connected to aside, also if it comes later than the application.
     *
     * @param application its name, if it has one
     */
    static RedisSharedStore connect(RateLimitProperties.Redis properties, @Nullable String application) {
        List<String> nodes = Properties.orNone(properties.clusterUris());
        Properties.check(
                properties.uri() == null || nodes.isEmpty(),
                "ratelimit.redis.cluster-uris",
                "is instead of ratelimit.redis.uri: choose one");
        RedisStore store = nodes.isEmpty()
                ? Properties.of(
                        "ratelimit.redis.uri", () -> RedisStore.connectAside(Objects.requireNonNull(properties.uri())))
                : Properties.of(
                        "ratelimit.redis.cluster-uris",
                        () -> RedisStore.connectClusterAside(nodes.toArray(String[]::new)));
        return new RedisSharedStore(store, properties, application);
    }

    /**
     * On the application's own client, with connections of our own, which are made aside and closed before it is.
     *
     * @param application its name, if it has one
     */
    static RedisSharedStore on(
            AbstractRedisClient client, RateLimitProperties.Redis properties, @Nullable String application) {
        RedisStore store = client instanceof RedisClusterClient cluster
                ? RedisStore.connectAside(cluster)
                : RedisStore.connectAside((RedisClient) client);
        return new RedisSharedStore(store, properties, application);
    }

    @Override
    public RateLimitStore store(WhenUnavailable mode, @Nullable Integer instances) {
        return store.whenUnavailable(
                switch (mode) {
                    case OPEN -> FailureMode.open();
                    case CLOSED -> FailureMode.closed();
                    case LOCAL -> FailureMode.local(Objects.requireNonNull(instances, "instances"));
                });
    }

    @Override
    public Mono<Condition> condition() {
        return store.selfTest()
                .map(test -> new Condition(
                        test.passed(),
                        test.findings().stream().map(SelfTest.Finding::toString).toList()));
    }

    @Override
    public Mono<Void> close() {
        return closing;
    }

    @Override
    public String toString() {
        return store.toString();
    }
}
