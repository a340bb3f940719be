package io.github.reactorratelimit.embedded;

/** There is no server that could be started here. The message says how to name one. */
public final class NoRedisException extends IllegalStateException {

    private static final long serialVersionUID = 1L;

    NoRedisException(String message) {
        super(message);
    }
}
