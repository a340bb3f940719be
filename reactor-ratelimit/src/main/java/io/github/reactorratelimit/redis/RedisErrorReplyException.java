package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.RateLimitException;

/**
 * Redis answered with an error that is no outage: a missing permission, an unknown command. The command that
 * failed changed nothing. No failure mode answers instead, because Redis is available; the log and {@link
 * RedisStore#selfTest()} say what to set.
 */
public final class RedisErrorReplyException extends RateLimitException {

    private static final long serialVersionUID = 1L;

    RedisErrorReplyException(String message) {
        super(message);
    }
}
