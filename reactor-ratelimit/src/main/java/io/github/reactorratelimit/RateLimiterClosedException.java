package io.github.reactorratelimit;

/** The limiter was closed, or its scheduler disposed, before the request was decided. */
public final class RateLimiterClosedException extends RateLimitException {

    private static final long serialVersionUID = 1L;

    public RateLimiterClosedException(String limiter) {
        super("limiter '" + limiter + "' is closed");
    }
}
