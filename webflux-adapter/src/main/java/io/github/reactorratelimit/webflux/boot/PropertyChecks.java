package io.github.reactorratelimit.webflux.boot;

import java.util.List;
import java.util.Locale;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Names of properties, and complaints about them. */
final class PropertyChecks {

    private static final String LIMITS = "reactor-ratelimit.limits";

    private PropertyChecks() {}

    /** The name of the properties of a limit. */
    static String limit(String name) {
        return name.matches("[a-z0-9-]+") ? LIMITS + "." + name : LIMITS + "[" + name + "]";
    }

    static <T> T required(@Nullable T value, String property, String otherwise) {
        if (value == null) {
            throw new RateLimitConfigurationException(property, otherwise);
        }
        return value;
    }

    static void check(boolean condition, String property, String otherwise) {
        if (!condition) {
            throw new RateLimitConfigurationException(property, otherwise);
        }
    }

    /** Makes something of a property; if it is refused, the message names the property. */
    static <T> T of(String property, Supplier<T> made) {
        try {
            return made.get();
        } catch (RateLimitConfigurationException named) {
            throw named;
        } catch (IllegalArgumentException | IllegalStateException refused) {
            throw new RateLimitConfigurationException(property, String.valueOf(refused.getMessage()), refused);
        }
    }

    /** A constant as it is written in a file. */
    static String written(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    static <T> List<T> orNone(@Nullable List<T> list) {
        return list == null ? List.of() : list;
    }
}
