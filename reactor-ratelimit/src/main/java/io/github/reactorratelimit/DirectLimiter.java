package io.github.reactorratelimit;

import java.time.Duration;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;
import reactor.util.context.ContextView;

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
    default @Nullable Decision decideNow(String key, long permits, boolean waits) {
        return null;
    }

    /**
     * {@link RateLimiter#acquire} for a caller that got null from {@link #decideNow}: the Mono may be
     * subscribed to once, with this Context. If it is cancelled, a decision that was on its way may still
     * come, and the caller refunds it.
     */
    Mono<Decision> decideLater(String key, long permits, long maxWaitNanos, ContextView context);

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
        return limiter instanceof DirectLimiter direct
                ? direct
                : (key, permits, maxWaitNanos, context) ->
                        limiter.acquire(key, permits, Duration.ofNanos(maxWaitNanos));
    }
}
