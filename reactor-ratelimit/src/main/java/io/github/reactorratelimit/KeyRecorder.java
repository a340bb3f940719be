package io.github.reactorratelimit;

/**
 * Told of every decision with its key, unlike {@link RateLimitRecorder}: for what has to tell keys apart, such as
 * {@code HotKeys}. A key may be a secret; an implementation must not let it out. Called on the hot path by many
 * threads: must be fast, must not block and must not throw.
 */
@FunctionalInterface
public interface KeyRecorder {

    /**
     * A request was answered, at once or after a wait. {@link RateLimiter#tryAcquireNow} that says false is no answer: the
     * request that follows it is.
     *
     * @param key whose; as {@link #held} makes it
     * @param allowed whether the permits were taken
     * @param permits how many were asked for
     */
    void decided(String key, boolean allowed, long permits);

    /** A user's key in the form in which a recorder gets it: keys longer than 128 bytes as a digest. */
    static String held(String key) {
        return Keys.normalise(key);
    }
}
