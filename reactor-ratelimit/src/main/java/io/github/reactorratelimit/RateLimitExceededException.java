package io.github.reactorratelimit;

import java.util.Objects;

/** A request was denied: {@link #decision()} says by which limit and when to come back. */
public final class RateLimitExceededException extends RateLimitException {

    private static final long serialVersionUID = 1L;

    private final transient Decision decision;

    public RateLimitExceededException(Decision decision) {
        super("rate limit exceeded: " + Objects.requireNonNull(decision, "decision"));
        this.decision = decision;
    }

    /** The denial. */
    public Decision decision() {
        return decision;
    }
}
