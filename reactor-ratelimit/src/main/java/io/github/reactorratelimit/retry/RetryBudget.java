package io.github.reactorratelimit.retry;

import io.github.reactorratelimit.DirectLimiter;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * How many retries the traffic may carry: a share of the calls, so that retries cannot multiply the load on something that
 * already fails. Share one budget between all calls to a downstream.
 *
 * <pre>{@code
 * RetryBudget budget = RetryBudget.ofShare(0.1);
 * Retry retry = RateLimitRetry.atMost(3).withBudget(budget);
 * }</pre>
 *
 * <p>Each call puts its share in, each retry takes one out. What is not used is kept, up to {@link #MOST_KEPT} retries.
 * Where there is little traffic the share alone would allow next to nothing: so some retries each second are allowed whatever the traffic.
 */
public final class RetryBudget {

    /** Retries that can be saved up. */
    public static final int MOST_KEPT = 100;

    /** Retries each second that are allowed whatever the traffic, unless {@link #withAtLeastPerSecond} says otherwise. */
    public static final int DEFAULT_PER_SECOND = 1;

    private static final long ONE_RETRY = 1_000_000;
    private static final String KEY = "retries";

    private final double share;
    private final int atLeastPerSecond;
    private final long sharePerCall;
    private final @Nullable DirectLimiter always;
    private final AtomicLong balance = new AtomicLong();
    private final LongAdder refused = new LongAdder();

    private RetryBudget(double share, int atLeastPerSecond) {
        this.share = share;
        this.atLeastPerSecond = atLeastPerSecond;
        this.sharePerCall = Math.round(share * ONE_RETRY);
        this.always = atLeastPerSecond == 0
                ? null
                : DirectLimiter.of(RateLimiter.of(TokenBucket.perSecond(atLeastPerSecond)));
    }

    /**
     * Retries for a share of the calls.
     *
     * @param share above 0, at most 1: 0.1 lets one call in ten be tried again
     */
    public static RetryBudget ofShare(double share) {
        if (!(share >= 1.0 / ONE_RETRY && share <= 1)) {
            throw new IllegalArgumentException("share must be above 0 and at most 1, was " + share);
        }
        return new RetryBudget(share, DEFAULT_PER_SECOND);
    }

    /** A budget with the same share, empty, that allows so many retries each second whatever the traffic. */
    public RetryBudget withAtLeastPerSecond(int retries) {
        if (retries < 0) {
            throw new IllegalArgumentException("retries must not be negative, was " + retries);
        }
        return new RetryBudget(share, retries);
    }

    /** A call begins that may have to be tried again. */
    public void called() {
        balance.accumulateAndGet(sharePerCall, (kept, more) -> Math.min(MOST_KEPT * ONE_RETRY, kept + more));
    }

    /** Takes a retry; false if there is none left. */
    public boolean tryRetry() {
        long before = balance.getAndUpdate(kept -> kept >= ONE_RETRY ? kept - ONE_RETRY : kept);
        boolean granted = before >= ONE_RETRY || (always != null && always.tryAcquireNow(KEY, 1));
        if (!granted) {
            refused.increment();
        }
        return granted;
    }

    /** Whole retries that were saved up, for a gauge. */
    public long kept() {
        return balance.get() / ONE_RETRY;
    }

    /** Retries that were refused so far, for a counter. */
    public long refused() {
        return refused.sum();
    }

    @Override
    public String toString() {
        return "RetryBudget[share " + share + ", at least " + atLeastPerSecond + " per second, " + kept() + " kept]";
    }
}
