package io.github.reactorratelimit.benchmarks.redis;

import org.jspecify.annotations.Nullable;

/** Where a contender answers, once per ask, on any thread, also before {@code ask} returned. */
interface Answer {

    void decided(boolean allowed);

    void failed(Throwable reason);

    /** For contenders that answer by a future. */
    default void complete(boolean allowed, @Nullable Throwable reason) {
        if (reason == null) {
            decided(allowed);
        } else {
            failed(reason);
        }
    }
}
