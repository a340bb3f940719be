package io.github.reactorratelimit;

import org.jspecify.annotations.Nullable;

/**
 * Internal, not for users: what our operators and filters need of a limiter besides {@link RateLimiter}. May
 * change at any time.
 */
public interface DirectLimiter {

    /**
     * The fast path: decides on the caller's thread, in memory, where that is possible. Allocates nothing if
     * it spends the permits of a rate. Those cannot be refunded; permits of a {@link ConcurrencyLimit} must
     * come back by {@link #releaseNow}.
     *
     * @param waits whether the caller waits rather than be denied: then a denial is null too
     * @return null if only {@link RateLimiter#acquire}, {@code tryAcquire} or {@code acquireLease} can
     *     decide: nothing was taken
     */
    @Nullable
    Decision decideNow(String key, long permits, boolean waits);

    /** Takes the permits if that is possible on the fast path. */
    default boolean tryAcquireNow(String key, long permits) {
        Decision decision = decideNow(key, permits, true);
        return decision != null && decision.allowed();
    }

    /**
     * Releases permits of a concurrency limit that {@link #decideNow} granted; of several calls the first
     * counts.
     */
    default void releaseNow(Decision decision) {}

    /**
     * The key to which a pause of {@code key} applies: a different one where several keys share one limit.
     */
    default String sharedKey(String key) {
        return key;
    }

    /** A limiter without a fast path never decides immediately. */
    static DirectLimiter of(RateLimiter limiter) {
        return limiter instanceof DirectLimiter direct ? direct : (key, permits, waits) -> null;
    }
}
