package io.github.reactorratelimit.redis.next;

import io.github.reactorratelimit.RateLimitException;

/** Redis answered something that is no answer of our scripts: nothing is known about what they did. */
final class RedisReplyException extends RateLimitException {

    private static final long serialVersionUID = 1L;

    RedisReplyException(String message) {
        super(message);
    }
}
