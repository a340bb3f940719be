package io.github.reactorratelimit;

/**
 * Anything a limiter signals as an error. Has no stack trace, which would say nothing about the cause
 * and cost more than the decision itself, and never prints a key.
 */
public abstract class RateLimitException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    protected RateLimitException(String message) {
        super(message, null, false, false);
    }
}
