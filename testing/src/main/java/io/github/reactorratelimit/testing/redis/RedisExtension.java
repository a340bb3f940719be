package io.github.reactorratelimit.testing.redis;

import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * Hands a {@link Standalone}, {@link Sentinels} or {@link Cluster} to constructors and methods of tests. Each is started
 * when first asked for, shared by the whole run, and ended with it: use keys of your own, and leave it as you found it.
 * A test that breaks things starts its own; one that counts what the servers do asks for {@link Dedicated} ones.
 */
public final class RedisExtension implements ParameterResolver {

    private static final Map<Class<?>, Supplier<Topology>> SHARED = Map.of(
            Standalone.class, Standalone::open,
            Sentinels.class, () -> Sentinels.patient(1),
            Cluster.class, Cluster::patient);

    private static final Map<Class<?>, Supplier<Topology>> DEDICATED = Map.of(
            Standalone.class, Standalone::start,
            Sentinels.class, () -> Sentinels.patient(1),
            Cluster.class, Cluster::patient);

    /** Servers that the whole run shares. */
    private static final Set<Topology> IN_SHARED_USE = ConcurrentHashMap.newKeySet();

    /** Whether other tests may use these servers at the same time. */
    static boolean isShared(Topology servers) {
        return IN_SHARED_USE.contains(servers);
    }

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        return SHARED.containsKey(parameter.getParameter().getType());
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        Class<?> type = parameter.getParameter().getType();
        if (parameter.isAnnotated(Dedicated.class)) {
            return context.getStore(Namespace.create(RedisExtension.class, Dedicated.class))
                    .getOrComputeIfAbsent(
                            type,
                            ignored ->
                                    Objects.requireNonNull(DEDICATED.get(type)).get());
        }
        return context.getRoot()
                .getStore(Namespace.create(RedisExtension.class))
                .getOrComputeIfAbsent(type, RedisExtension::share);
    }

    private static Topology share(Class<?> type) {
        Topology shared = Objects.requireNonNull(SHARED.get(type)).get();
        IN_SHARED_USE.add(shared);
        return shared;
    }
}
