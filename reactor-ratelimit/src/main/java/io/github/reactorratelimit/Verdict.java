package io.github.reactorratelimit;

/** What can be told about a request at once, in memory: see {@link RateLimiter#decideNow}. */
public sealed interface Verdict {

    /** The permits were taken; nothing is left to ask. */
    Verdict TAKEN = Known.TAKEN;

    /** Nothing was taken: only {@link RateLimiter#tryAcquire} or {@link RateLimiter#acquire} can tell. */
    Verdict UNKNOWN = Known.UNKNOWN;

    /**
     * Nothing was taken: denied.
     *
     * @param decision the denial
     */
    record Denied(Decision decision) implements Verdict {}

    /** The verdicts that carry nothing. */
    enum Known implements Verdict {
        /** See {@link Verdict#TAKEN}. */
        TAKEN,
        /** See {@link Verdict#UNKNOWN}. */
        UNKNOWN
    }
}
