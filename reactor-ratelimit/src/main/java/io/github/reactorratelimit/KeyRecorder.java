package io.github.reactorratelimit;

/**
 * Gets every decision with its key, unlike {@link RateLimitRecorder}. {@code HotKeys} is one.
 *
 * <pre>{@code
 * KeyRecorder denied = (key, allowed, permits) -> { if (!allowed) suspects.add(key); };
 * RateLimiter limiter = RateLimiter.builder(policy).keyRecorder(denied).build();
 * }</pre>
 *
 * <p>A key may be a secret: do not publish it. Many threads call it on the hot path: an implementation must
 * be fast and must not block. If it throws, the first exception is logged and no request fails.
 */
@FunctionalInterface
public interface KeyRecorder {

    /**
     * A request was allowed or denied, immediately or after a wait.
     *
     * @param key the key, in the form of {@link #held}
     * @param allowed whether the permits were taken
     * @param permits how many permits were requested
     */
    void decided(String key, boolean allowed, long permits);

    /** A user's key in the form that a recorder gets: a key longer than 1 024 characters is a digest. */
    static String held(String key) {
        return Keys.normalise(key);
    }
}
