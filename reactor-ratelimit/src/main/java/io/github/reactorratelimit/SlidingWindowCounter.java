package io.github.reactorratelimit;

import java.time.Duration;

/**
 * An estimate of a sliding window in constant memory: the permits of the current window plus those
 * of the previous one, weighted by how much of it the sliding window still covers and rounded down
 * to whole permits. Windows are aligned to the epoch.
 *
 * <pre>{@code
 * SlidingWindowCounter.of(10_000, Duration.ofMinutes(1))   // about 10 000 in any minute
 * }</pre>
 *
 * <p>Worst case in any half-open window of this length: {@code 2 * limit}, by an adversary that
 * knows where windows start; evenly spread traffic stays close to the limit.
 *
 * @param limit permits per window
 * @param window length of the window
 */
public record SlidingWindowCounter(long limit, Duration window) implements RateLimitPolicy {

    public SlidingWindowCounter {
        Checks.permits("limit", limit);
        Checks.period("window", window);
    }

    /** About {@code limit} permits in any window of this length. */
    public static SlidingWindowCounter of(long limit, Duration window) {
        return new SlidingWindowCounter(limit, window);
    }

    @Override
    public long capacity() {
        return limit;
    }

    @Override
    public SlidingWindowCounter share(int n) {
        return new SlidingWindowCounter(Checks.shareOf("limit", limit, n), window);
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
