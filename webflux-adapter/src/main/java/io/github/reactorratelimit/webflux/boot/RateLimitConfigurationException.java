package io.github.reactorratelimit.webflux.boot;

import org.jspecify.annotations.Nullable;

/** A property of the limits that cannot be used as it is. Names the property and what is allowed, never its value: it may be a secret. */
public final class RateLimitConfigurationException extends IllegalArgumentException {

    private static final long serialVersionUID = 1;

    private final String property;
    private final String reason;

    RateLimitConfigurationException(String property, String reason, @Nullable Throwable cause) {
        super(property + ": " + reason, cause);
        this.property = property;
        this.reason = reason;
    }

    RateLimitConfigurationException(String property, String reason) {
        this(property, reason, null);
    }

    /** The name of the property, such as {@code reactor-ratelimit.limits.per-client.algorithm}. */
    public String property() {
        return property;
    }

    /** What is wrong with it, and what is allowed. */
    public String reason() {
        return reason;
    }
}
