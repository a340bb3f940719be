package io.github.reactorratelimit;

import java.time.Duration;

/**
 * At most {@code limit} permits in any window, exactly: the time of every permit is remembered until
 * it leaves the window. Memory grows with the limit, so limits above {@value #MAX_LIMIT} are refused.
 *
 * <pre>{@code
 * SlidingWindowLog.of(100, Duration.ofMinutes(1))   // never more than 100 in any minute
 * }</pre>
 *
 * <p>Worst case in any half-open window of this length: {@code limit}.
 *
 * @param limit permits per window, at most {@value #MAX_LIMIT}
 * @param window length of the sliding window
 */
public record SlidingWindowLog(long limit, Duration window) implements RateLimitPolicy {

    /** The largest limit a log may have. */
    public static final long MAX_LIMIT = 10_000;

    public SlidingWindowLog {
        Checks.permits("limit", limit);
        if (limit > MAX_LIMIT) {
            throw new IllegalArgumentException("limit of a SlidingWindowLog must be at most " + MAX_LIMIT + ", was "
                    + limit + "; use SlidingWindowCounter, which needs constant memory");
        }
        Checks.period("window", window);
    }

    /** {@code limit} permits in any window of this length. */
    public static SlidingWindowLog of(long limit, Duration window) {
        return new SlidingWindowLog(limit, window);
    }

    @Override
    public long capacity() {
        return limit;
    }

    @Override
    public SlidingWindowLog share(int n) {
        return new SlidingWindowLog(Checks.shareOf("limit", limit, n), window);
    }

    @Override
    public Duration period() {
        return window;
    }

    @Override
    public <R> R accept(PolicyVisitor<R> visitor) {
        return visitor.visit(this);
    }
}
