package io.github.reactorratelimit;

/**
 * What can be told about a request at once, in memory: see {@link RateLimiter#decideNow}. Either {@link
 * #TAKEN}, or {@link #UNKNOWN}, or the {@link Decision} that denies: then nothing was taken.
 */
public sealed interface Verdict permits Verdict.Known, Decision {

    /** The permits were taken; nothing is left to ask. */
    Verdict TAKEN = Known.TAKEN;

    /** Nothing was taken: only {@link RateLimiter#tryAcquire} or {@link RateLimiter#acquire} can tell. */
    Verdict UNKNOWN = Known.UNKNOWN;

    /** The verdicts that carry nothing. */
    enum Known implements Verdict {
        /** See {@link Verdict#TAKEN}. */
        TAKEN,
        /** See {@link Verdict#UNKNOWN}. */
        UNKNOWN
    }
}
