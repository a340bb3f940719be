package io.github.reactorratelimit.redis.server;

import java.util.Map;
import java.util.function.Supplier;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * Hands a {@link Standalone}, {@link Sentinels} or {@link Cluster} to constructors and methods of tests. Each is started
 * when first asked for, shared by the whole run, and ended with it: use keys of your own, and leave it as you found it.
 * A test that breaks things starts its own.
 */
public final class RedisExtension implements ParameterResolver {

    private static final Map<Class<?>, Supplier<Topology>> SHARED = Map.of(
            Standalone.class, Standalone::open,
            Sentinels.class, () -> Sentinels.patient(1),
            Cluster.class, Cluster::patient);

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        return SHARED.containsKey(parameter.getParameter().getType());
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        Class<?> type = parameter.getParameter().getType();
        return context.getRoot()
                .getStore(Namespace.create(RedisExtension.class))
                .getOrComputeIfAbsent(type, ignored -> SHARED.get(type).get());
    }
}
