package io.github.reactorratelimit.adaptive;

/** Tells an {@link AdaptiveLimiter} how a call ended. */
public enum CallOutcome {
    /** The downstream served it: the latency counts. */
    SUCCESS,
    /** The downstream rejected it, or failed under load: a 429, a 503, a timeout. */
    OVERLOAD,
    /** It failed for another reason, such as a bad request. Does not count. */
    IGNORED
}
