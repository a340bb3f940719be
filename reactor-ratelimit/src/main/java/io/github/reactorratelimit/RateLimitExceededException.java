package io.github.reactorratelimit;

import java.io.IOException;
import java.io.ObjectOutputStream;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** A request was denied: {@link #decision()} says by which limit and when to come back. */
public final class RateLimitExceededException extends RateLimitException {

    private static final long serialVersionUID = 2L;

    private final transient Decision decision;

    /** Only for the serialised form, which has no decision: a denial costs less than the words for it. */
    private @Nullable String message;

    public RateLimitExceededException(Decision decision) {
        super(null);
        this.decision = Objects.requireNonNull(decision, "decision");
    }

    /** The denial. */
    public Decision decision() {
        return decision;
    }

    @Override
    public String getMessage() {
        return message == null ? "rate limit exceeded: " + decision : message;
    }

    private void writeObject(ObjectOutputStream out) throws IOException {
        message = getMessage();
        out.defaultWriteObject();
    }
}
