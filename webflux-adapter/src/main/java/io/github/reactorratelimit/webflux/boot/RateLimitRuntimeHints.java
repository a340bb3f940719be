package io.github.reactorratelimit.webflux.boot;

import io.github.reactorratelimit.webflux.gateway.GatewayRateLimiter;
import org.jspecify.annotations.Nullable;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;
import org.springframework.boot.context.properties.bind.BindableRuntimeHintsRegistrar;

/** What a native image cannot see: the scripts are read by name, the properties and what routes say are bound by reflection. */
final class RateLimitRuntimeHints implements RuntimeHintsRegistrar {

    @Override
    public void registerHints(RuntimeHints hints, @Nullable ClassLoader classLoader) {
        hints.resources().registerPattern("io/github/reactorratelimit/redis/*.lua");
        BindableRuntimeHintsRegistrar.forTypes(RateLimitProperties.class, GatewayRateLimiter.Config.class)
                .registerHints(hints);
    }
}
