package io.github.reactorratelimit;

/**
 * Internal: the answer of {@link DirectLimiter#decideNow}. Either {@link #TAKEN}, or {@link #UNKNOWN}, or the {@link Decision} that denies
 * and takes nothing.
 */
public sealed interface Verdict permits Verdict.Known, Decision {

    /** The permits were taken. */
    Verdict TAKEN = Known.TAKEN;

    /** Nothing was taken: only {@link RateLimiter#tryAcquire} or {@link RateLimiter#acquire} can decide. */
    Verdict UNKNOWN = Known.UNKNOWN;

    /** The answers that carry nothing. */
    enum Known implements Verdict {
        /** See {@link Verdict#TAKEN}. */
        TAKEN,
        /** See {@link Verdict#UNKNOWN}. */
        UNKNOWN
    }
}
