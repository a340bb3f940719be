package io.github.reactorratelimit.redis.next;

import io.github.reactorratelimit.RateLimitException;

/** A key holds what is no state of ours. Nothing was changed; delete the key, or use another prefix. */
final class RedisCorruptStateException extends RateLimitException {

    private static final long serialVersionUID = 1L;

    RedisCorruptStateException(String message) {
        super(message);
    }
}
