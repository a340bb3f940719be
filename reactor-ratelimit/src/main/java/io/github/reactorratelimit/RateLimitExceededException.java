package io.github.reactorratelimit;

import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A request was denied: {@link #decision()} says by which limit and when to retry.
 *
 * <pre>{@code
 * call.onErrorResume(RateLimitExceededException.class, denied -> busy(denied.decision().retryAfter()));
 * }</pre>
 */
public final class RateLimitExceededException extends RateLimitException {

    private static final long serialVersionUID = 2L;

    private final transient Decision decision;
    private final @Nullable String limiter;

    public RateLimitExceededException(Decision decision) {
        this(decision, null);
    }

    /**
     * @param limiter the {@linkplain RateLimiter#name() name} of the limiter that denied; null if it is not
     *     known
     */
    public RateLimitExceededException(Decision decision, @Nullable String limiter) {
        super(null);
        this.decision = Objects.requireNonNull(decision, "decision");
        this.limiter = limiter;
    }

    /** The denial. */
    public Decision decision() {
        return decision;
    }

    /** The name of the limiter that denied; empty if it is not known. */
    public Optional<String> limiter() {
        return Optional.ofNullable(limiter);
    }

    @Override
    public String getMessage() {
        return "rate limit " + (limiter == null ? "" : "'" + limiter + "' ") + "exceeded: " + decision;
    }
}
