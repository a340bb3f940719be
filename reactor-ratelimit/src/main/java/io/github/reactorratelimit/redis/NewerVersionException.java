package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.RateLimitException;

/** A key is under a newer version of the policy than the command. Nothing was written. */
final class NewerVersionException extends RateLimitException {

    private static final long serialVersionUID = 1L;

    private final long version;

    NewerVersionException(long version) {
        super("the key is under version " + version + " of its policy", null);
        this.version = version;
    }

    long version() {
        return version;
    }
}
