package io.github.reactorratelimit.webflux.boot;

import io.github.reactorratelimit.RateLimitRecorder;

/** Yields the recorder of each limit. A bean of this type replaces the one that counts in Micrometer. */
@FunctionalInterface
public interface LimitRecorders {

    /** The recorder of the limit of this name. */
    RateLimitRecorder of(String limitName);
}
