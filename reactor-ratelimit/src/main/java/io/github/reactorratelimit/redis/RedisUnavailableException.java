package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.RateLimitException;
import org.jspecify.annotations.Nullable;

/**
 * Redis gave no answer in time, or said that it cannot now. The failure mode of the store decides what that
 * means.
 */
public final class RedisUnavailableException extends RateLimitException {

    private static final long serialVersionUID = 1L;

    private final boolean unanswered;

    RedisUnavailableException(String message) {
        this(message, null);
    }

    RedisUnavailableException(String message, @Nullable Throwable cause) {
        this(message, cause, false);
    }

    private RedisUnavailableException(String message, @Nullable Throwable cause, boolean unanswered) {
        super(message, cause);
        this.unanswered = unanswered;
    }

    /** What was asked may have been done. */
    static RedisUnavailableException unanswered(String message, @Nullable Throwable cause) {
        return new RedisUnavailableException(message, cause, true);
    }

    boolean isUnanswered() {
        return unanswered;
    }
}
