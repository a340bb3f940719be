package io.github.reactorratelimit.webflux.boot;

import io.github.reactorratelimit.RateLimitRecorder;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.env.YamlPropertySourceLoader;
import org.springframework.core.env.PropertySource;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.core.io.ByteArrayResource;
import org.springframework.web.util.pattern.PathPatternParser;

/** Properties of a text of YAML, read as a refresh reads them. */
final class BoundProperties {

    private BoundProperties() {}

    static RateLimitProperties of(String yaml) {
        StandardEnvironment environment = new StandardEnvironment();
        sources(yaml).forEach(environment.getPropertySources()::addFirst);
        return PropertyReader.read(environment);
    }

    /** Limits in this process. */
    static RateLimits limits(RateLimitProperties properties) {
        return limits(properties, null);
    }

    /** Limits in this store. */
    static RateLimits limits(RateLimitProperties properties, @Nullable Supplier<SharedStore> shared) {
        LimitKey.Maker keys = new LimitKey.Maker(
                ClientAddressFactory.address(properties.clientAddress(), false),
                PathPatternParser.defaultInstance,
                name -> {
                    throw new IllegalArgumentException(name);
                });
        return new RateLimits(
                properties,
                () -> properties,
                new LimitFactory(
                        keys,
                        new LimitStores(properties, shared),
                        name -> RateLimitRecorder.NOOP,
                        ClientAddressFactory.exempt(
                                properties.allowList(),
                                ClientAddressFactory.address(properties.clientAddress(), false)),
                        0));
    }

    static List<PropertySource<?>> sources(String yaml) {
        try {
            return new YamlPropertySourceLoader()
                    .load("test", new ByteArrayResource(yaml.getBytes(StandardCharsets.UTF_8)));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
