package io.github.reactorratelimit.operator;

import java.util.Optional;

/**
 * How a limited call ended: what {@link LimitSpec#charge} is decided by.
 *
 * <pre>{@code
 * login.transform(limitRate(limiter, spec -> spec.charge(ended -> ended.isSuccess() ? 0 : ended.reserved())));
 * }</pre>
 *
 * @param <T> what the call yields
 * @param kind how it ended
 * @param value the value of a Mono; empty if it had none, and for a Flux
 * @param error why it failed; empty if it did not
 * @param elements elements that were passed on, of a Mono at most 1
 * @param reserved permits that were reserved when it was admitted: its cost
 */
public record Outcome<T>(Kind kind, Optional<T> value, Optional<Throwable> error, long elements, long reserved) {

    /** The ways in which a call ends. */
    public enum Kind {
        /** It completed; a Mono as soon as it has its value. */
        COMPLETED,
        /** It failed. */
        FAILED,
        /** Its subscriber cancelled before it ended. */
        CANCELLED
    }

    /** Whether it completed. */
    public boolean isSuccess() {
        return kind == Kind.COMPLETED;
    }

    /** Without the value, which may be a secret. */
    @Override
    public String toString() {
        return kind + " after " + elements + " elements, " + reserved + " reserved";
    }
}
