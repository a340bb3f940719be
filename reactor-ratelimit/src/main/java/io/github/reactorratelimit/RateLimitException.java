package io.github.reactorratelimit;

import org.jspecify.annotations.Nullable;

/**
 * Every error that a limiter signals. It has no stack trace, which would say nothing about the cause and cost
 * more than the decision itself, and it never prints a key.
 */
public abstract class RateLimitException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    protected RateLimitException(@Nullable String message) {
        this(message, null);
    }

    protected RateLimitException(@Nullable String message, @Nullable Throwable cause) {
        super(message, cause, false, false);
    }
}
