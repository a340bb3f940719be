package io.github.reactorratelimit.webflux.boot;

import io.github.reactorratelimit.webflux.gateway.GatewayRateLimiter;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;
import org.springframework.boot.context.properties.bind.BindableRuntimeHintsRegistrar;

/**
 * What a native image cannot see: the scripts are read by name, the properties and what routes say are bound by reflection,
 * and optional classes are looked up by name.
 */
final class RateLimitRuntimeHints implements RuntimeHintsRegistrar {

    @Override
    public void registerHints(RuntimeHints hints, @Nullable ClassLoader classLoader) {
        hints.resources().registerPattern("io/github/reactorratelimit/redis/*.lua");
        Stream.of(
                        RedisSharedStore.LETTUCE,
                        RedisSharedStore.FACTORY,
                        RateLimitAutoConfiguration.ENDPOINT,
                        LimitFactory.SECURITY)
                .forEach(optional -> hints.reflection().registerTypeIfPresent(classLoader, optional));
        BindableRuntimeHintsRegistrar.forTypes(RateLimitProperties.class, GatewayRateLimiter.Config.class)
                .registerHints(hints);
    }
}
