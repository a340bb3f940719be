package io.github.reactorratelimit.operator;

import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * How a limited call ended: what {@link LimitSpec#charge} is decided by.
 *
 * <pre>{@code
 * login.transform(limitRate(limiter, spec -> spec.charge(ended -> ended.isSuccess() ? 0 : ended.reserved())));
 * }</pre>
 *
 * @param <T> what the call yields
 */
public final class Outcome<T> {

    /** The ways in which a call ends. */
    public enum Kind {
        /** It completed; a Mono as soon as it has its value. */
        COMPLETED,
        /** It failed. */
        FAILED,
        /** Its subscriber cancelled before it ended. */
        CANCELLED
    }

    private final Kind kind;
    private final @Nullable T value;
    private final @Nullable Throwable error;
    private final long elements;
    private final long reserved;

    Outcome(Kind kind, @Nullable T value, @Nullable Throwable error, long elements, long reserved) {
        this.kind = Objects.requireNonNull(kind, "kind");
        this.value = value;
        this.error = error;
        this.elements = elements;
        this.reserved = reserved;
    }

    /** How it ended. */
    public Kind kind() {
        return kind;
    }

    /** Whether it completed. */
    public boolean isSuccess() {
        return kind == Kind.COMPLETED;
    }

    /** The value of a Mono; empty if it had none, and for a Flux. */
    public Optional<T> value() {
        return Optional.ofNullable(value);
    }

    /** Why it failed; empty if it did not. */
    public Optional<Throwable> error() {
        return Optional.ofNullable(error);
    }

    /** Elements that were passed on, of a Mono at most 1. */
    public long elements() {
        return elements;
    }

    /** Permits that were reserved when it was admitted: its cost. */
    public long reserved() {
        return reserved;
    }

    @Override
    public String toString() {
        return kind + " after " + elements + " elements, " + reserved + " reserved";
    }
}
