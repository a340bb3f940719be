package io.github.reactorratelimit.spi;

import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.LimiterState;
import io.github.reactorratelimit.RateLimitStore;
import java.time.Duration;
import java.util.Objects;

/**
 * A store on any {@link CompareAndSwapEngine}. Limiters of the same name on members of the same engine share their keys. Each process has
 * at most one call in flight per key; requests that arrive meanwhile are decided together by the next one. A lost race is repeated until
 * the deadline.
 *
 * <p>Waiters stand in one queue per key and process. The head of each queue asks again at its retry-after, so order between processes is
 * not promised.
 */
public final class CompareAndSwapStore implements RateLimitStore {

    private static final Duration DEFAULT_DEADLINE = Duration.ofMillis(500);

    private final CompareAndSwapEngine engine;
    private final Duration deadline;

    private CompareAndSwapStore(CompareAndSwapEngine engine, Duration deadline) {
        this.engine = Objects.requireNonNull(engine, "engine");
        this.deadline = deadline;
    }

    /** A store on this engine with a deadline of 500 ms. */
    public static CompareAndSwapStore of(CompareAndSwapEngine engine) {
        return new CompareAndSwapStore(engine, DEFAULT_DEADLINE);
    }

    /**
     * The same store with another deadline, from the moment a request is made until its decision. After it the request fails with a
     * {@link StoreUnavailableException}.
     *
     * @throws IllegalArgumentException if it is not positive
     */
    public CompareAndSwapStore withDeadline(Duration deadline) {
        if (deadline.isZero() || deadline.isNegative()) {
            throw new IllegalArgumentException("deadline must be positive, was " + deadline);
        }
        return new CompareAndSwapStore(engine, deadline);
    }

    @Override
    public LimiterState open(LimiterSettings settings) {
        return new CompareAndSwapState(settings, engine, deadline);
    }
}
