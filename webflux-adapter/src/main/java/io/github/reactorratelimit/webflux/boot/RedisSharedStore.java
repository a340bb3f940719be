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
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.context.ApplicationContext;
import org.springframework.data.redis.connection.ReactiveRedisConnectionFactory;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.util.ClassUtils;
import reactor.core.publisher.Mono;

/** Limits in Redis, on connections of their own. Needs Lettuce on the class path, Spring Data Redis may be missing. */
final class RedisSharedStore implements SharedStore {

    static final String LETTUCE = "io.lettuce.core.RedisClient";
    static final String FACTORY = "org.springframework.data.redis.connection.RedisConnectionFactory";

    private final RedisStore store;

    /** Once per store: the end of the application may ask for it several times. */
    private final Mono<Void> closing;

    private RedisSharedStore(RedisStore store) {
        this.store = store;
        this.closing = store.close().cache();
    }

    /**
     * Connects to {@code reactor-ratelimit.redis.uri}, or where the application's Lettuce client connects; null if there is
     * neither. The application does not wait for it: it connects in the background.
     */
    static @Nullable Supplier<SharedStore> find(RateLimitProperties.Redis properties, ApplicationContext application) {
        boolean named = properties.uri() != null
                || !PropertyChecks.orNone(properties.clusterUris()).isEmpty();
        if (!ClassUtils.isPresent(LETTUCE, application.getClassLoader())) {
            PropertyChecks.check(
                    !named,
                    "reactor-ratelimit.redis.uri",
                    "needs Lettuce, which is not on the class path: add io.lettuce:lettuce-core");
            return null;
        }
        if (!named && !hasConnectionFactory(application)) {
            return null;
        }
        String name = application.getEnvironment().getProperty("spring.application.name");
        return () -> new RedisSharedStore(
                configured(named ? ownServer(properties) : ApplicationsServer.connect(application), properties, name));
    }

    /** Whether the application has a Redis, of whichever client. */
    static boolean hasConnectionFactory(ApplicationContext application) {
        return ClassUtils.isPresent(FACTORY, application.getClassLoader()) && ApplicationsServer.isIn(application);
    }

    private static RedisStore ownServer(RateLimitProperties.Redis properties) {
        String uri = properties.uri();
        String[] nodes = PropertyChecks.orNone(properties.clusterUris()).toArray(String[]::new);
        PropertyChecks.check(
                uri == null || nodes.length == 0,
                "reactor-ratelimit.redis.cluster-uris",
                "is instead of reactor-ratelimit.redis.uri: choose one");
        return uri == null
                ? PropertyChecks.of("reactor-ratelimit.redis.cluster-uris", () -> RedisStore.connectClusterAside(nodes))
                : PropertyChecks.of("reactor-ratelimit.redis.uri", () -> RedisStore.connectAside(uri));
    }

    /** Applications that share a server do not share limits that happen to have one name. */
    private static RedisStore configured(
            RedisStore store, RateLimitProperties.Redis properties, @Nullable String application) {
        String standard =
                application == null || application.isBlank() ? "ratelimit" : "ratelimit:" + application.strip();
        String prefix = properties.prefix() == null ? standard : properties.prefix();
        RedisStore prefixed = PropertyChecks.of("reactor-ratelimit.redis.prefix", () -> store.withPrefix(prefix));
        RedisStore versioned = PropertyChecks.of(
                "reactor-ratelimit.redis.policy-epoch", () -> prefixed.withPolicyEpoch(properties.policyEpoch()));
        return PropertyChecks.of(
                "reactor-ratelimit.redis.deadline", () -> versioned.withDeadline(properties.deadline()));
    }

    /** Separate, because it names types of Spring Data Redis. */
    private static final class ApplicationsServer {

        private static final List<Class<?>> TYPES =
                List.of(RedisConnectionFactory.class, ReactiveRedisConnectionFactory.class);

        static boolean isIn(ListableBeanFactory beans) {
            return TYPES.stream().anyMatch(type -> beans.getBeanNamesForType(type, true, false).length > 0);
        }

        /** A connection factory that was stopped has another client when it starts again. Our connections are closed before it is. */
        static RedisStore connect(ListableBeanFactory beans) {
            AbstractRedisClient client = lettuce(beans).getRequiredNativeClient();
            return client instanceof RedisClusterClient cluster
                    ? RedisStore.connectAside(cluster)
                    : RedisStore.connectAside((RedisClient) client);
        }

        /** The type of a bean definition may hide that it is of Lettuce, so the beans are asked. */
        private static LettuceConnectionFactory lettuce(ListableBeanFactory beans) {
            if (beans.getBeanProvider(RedisConnectionFactory.class).getIfUnique()
                    instanceof LettuceConnectionFactory only) {
                return only;
            }
            List<LettuceConnectionFactory> found = TYPES.stream()
                    .<Object>flatMap(type -> beans.getBeanProvider(type).stream())
                    .flatMap(bean -> bean instanceof LettuceConnectionFactory one ? Stream.of(one) : Stream.empty())
                    .distinct()
                    .toList();
            PropertyChecks.check(
                    !found.isEmpty(),
                    "reactor-ratelimit.redis.uri",
                    "is needed, or reactor-ratelimit.store: local: the application's Redis connection factory is not one of Lettuce");
            PropertyChecks.check(
                    found.size() == 1,
                    "reactor-ratelimit.redis.uri",
                    "is needed, or a @Primary connection factory, or reactor-ratelimit.store: local: the application has several");
            return found.get(0);
        }
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
