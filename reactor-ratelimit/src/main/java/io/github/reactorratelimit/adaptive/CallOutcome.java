package io.github.reactorratelimit.adaptive;

/** What the end of a call says about its downstream. */
public enum CallOutcome {
    /** It was served: what was sent can be borne, and the latency counts. */
    SUCCESS,
    /** It was refused, or failed because there was too much to do: a 429, a 503, a timeout. */
    OVERLOAD,
    /** It failed for reasons of its own, such as a request that makes no sense. Says nothing. */
    IGNORED
}
