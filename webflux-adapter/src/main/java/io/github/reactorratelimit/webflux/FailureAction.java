package io.github.reactorratelimit.webflux;

/**
 * What happens to a request if the limiter fails instead of deciding: Redis refuses a command, a key holds something else, or the limiter was
 * closed. What a limiter decides while Redis is unavailable is chosen where the store is built, and is not a failure.
 */
public enum FailureAction {
    /** Denies it with 503 Service Unavailable. */
    DENY,
    /** Lets it pass, as if the rule were not there. Not for a login. */
    ALLOW
}
