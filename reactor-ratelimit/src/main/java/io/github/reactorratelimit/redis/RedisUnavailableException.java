package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.RateLimitException;
import org.jspecify.annotations.Nullable;

/** Redis gave no answer in time, or said that it cannot now. The failure mode of the store decides what that means. */
public final class RedisUnavailableException extends RateLimitException {

    private static final long serialVersionUID = 1L;

    RedisUnavailableException(String message) {
        this(message, null);
    }

    RedisUnavailableException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
