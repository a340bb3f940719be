package io.github.reactorratelimit;

import org.jspecify.annotations.Nullable;

/**
 * Internal, not for users: what our operators and filters need of a limiter besides {@link RateLimiter}. May change at any time.
 */
public interface DirectLimiter {

    /**
     * Decides immediately, in memory, where that is possible: allocates nothing if it takes the permits. Permits taken this way cannot be
     * refunded. {@link Verdict#UNKNOWN} takes nothing; then {@link RateLimiter#tryAcquire} or {@link RateLimiter#acquire} decides.
     *
     * @param waits whether the caller waits rather than be denied: then a denial is {@link Verdict#UNKNOWN} too
     */
    Verdict decideNow(String key, long permits, boolean waits);

    /** Takes the permits if that is possible immediately, in memory. */
    default boolean tryAcquireNow(String key, long permits) {
        return decideNow(key, permits, true) == Verdict.TAKEN;
    }

    /**
     * Takes permits of a concurrency limit, if that can be decided immediately.
     *
     * @param waits whether the caller waits rather than be denied
     * @return the decision; null if only {@link RateLimiter#acquireLease} can decide, and nothing was taken
     */
    default @Nullable Decision leaseNow(String key, long permits, boolean waits) {
        return null;
    }

    /** Gives back the permits of an allowed decision of {@link #leaseNow}; of several calls the first counts. */
    default void releaseNow(Decision decision) {}

    /** The key to which a pause of {@code key} applies: a different one where several keys share one limit. */
    default String sharedKey(String key) {
        return key;
    }

    /** A limiter that cannot decide immediately answers {@link Verdict#UNKNOWN}. */
    static DirectLimiter of(RateLimiter limiter) {
        return limiter instanceof DirectLimiter direct ? direct : (key, permits, waits) -> Verdict.UNKNOWN;
    }
}
