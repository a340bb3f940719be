package io.github.reactorratelimit.webflux.boot;

import io.github.reactorratelimit.RateLimitStore;
import io.github.reactorratelimit.redis.FailureMode;
import io.github.reactorratelimit.redis.RedisStore;
import io.github.reactorratelimit.redis.SelfTest;
import io.github.reactorratelimit.webflux.boot.LimitProperties.WhenUnavailable;
import io.lettuce.core.AbstractRedisClient;
import io.lettuce.core.RedisClient;
import io.lettuce.core.cluster.RedisClusterClient;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** Limits in Redis, on connections of their own. */
final class RedisSharedStore implements SharedStore {

    private final Supplier<RedisStore> connect;
    private volatile RedisStore store;

    /** Once per store: the end of the application and that of the bean both ask for it. */
    private volatile Mono<Void> closing;

    private RedisSharedStore(
            Supplier<RedisStore> connect, RateLimitProperties.Redis properties, @Nullable String application) {
        String prefix = properties.prefix() == null ? prefixOf(application) : properties.prefix();
        this.connect = () -> configured(connect.get(), prefix, properties);
        this.store = this.connect.get();
        this.closing = store.close().cache();
    }

    private static RedisStore configured(RedisStore store, String prefix, RateLimitProperties.Redis properties) {
        RedisStore prefixed = PropertyChecks.of("reactor-ratelimit.redis.prefix", () -> store.withPrefix(prefix));
        RedisStore versioned = PropertyChecks.of(
                "reactor-ratelimit.redis.policy-epoch", () -> prefixed.withPolicyEpoch(properties.policyEpoch()));
        return PropertyChecks.of(
                "reactor-ratelimit.redis.deadline", () -> versioned.withDeadline(properties.deadline()));
    }

    /** Applications that share a server do not share limits that happen to have one name. */
    private static String prefixOf(@Nullable String application) {
        return application == null || application.isBlank() ? "ratelimit" : "ratelimit:" + application.strip();
    }

    /**
     * On a server for the limits alone. The application does not wait for it: it connects in the background.
     *
     * @param application its name, if it has one
     */
    static RedisSharedStore connect(RateLimitProperties.Redis properties, @Nullable String application) {
        List<String> nodes = PropertyChecks.orNone(properties.clusterUris());
        PropertyChecks.check(
                properties.uri() == null || nodes.isEmpty(),
                "reactor-ratelimit.redis.cluster-uris",
                "is instead of reactor-ratelimit.redis.uri: choose one");
        Supplier<RedisStore> connect = nodes.isEmpty()
                ? () -> PropertyChecks.of(
                        "reactor-ratelimit.redis.uri",
                        () -> RedisStore.connectAside(Objects.requireNonNull(properties.uri())))
                : () -> PropertyChecks.of(
                        "reactor-ratelimit.redis.cluster-uris",
                        () -> RedisStore.connectClusterAside(nodes.toArray(String[]::new)));
        return new RedisSharedStore(connect, properties, application);
    }

    /**
     * On the application's own client, with connections of our own, which are closed before it is.
     *
     * @param client yields it; a connection factory that was stopped has another one when it starts again
     * @param application its name, if it has one
     */
    static RedisSharedStore on(
            Supplier<AbstractRedisClient> client, RateLimitProperties.Redis properties, @Nullable String application) {
        return new RedisSharedStore(
                () -> client.get() instanceof RedisClusterClient cluster
                        ? RedisStore.connectAside(cluster)
                        : RedisStore.connectAside((RedisClient) client.get()),
                properties,
                application);
    }

    @Override
    public RateLimitStore store(WhenUnavailable mode, @Nullable Integer instances, @Nullable Duration prepaid) {
        RedisStore chosen = store.whenUnavailable(
                switch (mode) {
                    case OPEN -> FailureMode.open();
                    case CLOSED -> FailureMode.closed();
                    case LOCAL -> FailureMode.local(Objects.requireNonNull(instances, "instances"));
                });
        return prepaid == null ? chosen : chosen.leasing(prepaid);
    }

    @Override
    public void reopen() {
        store = connect.get();
        closing = store.close().cache();
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
