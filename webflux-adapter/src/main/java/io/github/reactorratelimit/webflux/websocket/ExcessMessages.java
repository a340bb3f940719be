package io.github.reactorratelimit.webflux.websocket;

import java.time.Duration;
import java.util.Objects;

/** What happens to a message that is one too many. */
public final class ExcessMessages {

    /** What is done; see the factories. */
    enum Kind {
        CLOSE,
        DROP,
        DELAY
    }

    private final Kind kind;
    private final Duration maxWait;

    private ExcessMessages(Kind kind, Duration maxWait) {
        this.kind = kind;
        this.maxWait = maxWait;
    }

    /** The connection is closed with status 1008 (policy violation). */
    public static ExcessMessages close() {
        return new ExcessMessages(Kind.CLOSE, Duration.ZERO);
    }

    /** The message is dropped and the connection goes on. */
    public static ExcessMessages drop() {
        return new ExcessMessages(Kind.DROP, Duration.ZERO);
    }

    /**
     * The message waits, and those behind it are not read from the connection meanwhile: the client feels it. If the wait is known to be
     * longer than {@code maxWait}, the connection is closed with status 1008.
     *
     * @throws IllegalArgumentException if the wait is not positive
     */
    public static ExcessMessages delay(Duration maxWait) {
        if (Objects.requireNonNull(maxWait, "maxWait").isZero() || maxWait.isNegative()) {
            throw new IllegalArgumentException("maxWait must be positive, was " + maxWait);
        }
        return new ExcessMessages(Kind.DELAY, maxWait);
    }

    Kind kind() {
        return kind;
    }

    Duration maxWait() {
        return maxWait;
    }

    @Override
    public String toString() {
        return kind == Kind.DELAY ? kind + " up to " + maxWait : kind.toString();
    }
}
