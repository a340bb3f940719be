package io.github.reactorratelimit;

import java.time.Duration;

/**
 * A constant rate that a cold key reaches step by step, for a server whose caches, connections or compilers
 * must warm up. A key is cold when the limiter starts, after a reset, and after an idle time.
 *
 * <p>Permits are spaced like those of a {@link LeakyBucket}: no burst is stored, whether the key is cold or
 * warm, and a request for {@code k} permits leaves at once but delays the next one by {@code k} intervals. A
 * cold key has 1/16 of the rate. While its permits are being paid for it warms up: each 16th of {@code
 * warmUp} adds 1/16, until it has the full rate. While it owes nothing it cools down just as fast: after
 * {@code warmUp} without a request it is cold again. A key that uses less than half of its rate for long
 * cools down until it uses half of it.
 *
 * <p>Worst case in any half-open window {@code W}: {@code rate * W} and one request. In the first {@code
 * warmUp} of a cold key: 17/32 of {@code rate * warmUp} and one request. Waiters are debited when their
 * permits come due, up to 20 ms before a late timer lets them leave: what they emit keeps that bound over
 * {@code W} + 20 ms.
 *
 * <p>A change of the policy keeps what a key owes and starts it cold. Permits cannot be {@linkplain
 * RateLimiter#reserve settled}, and there is no script for Redis yet: a limiter with such a store is refused
 * when it is built.
 *
 * <pre>{@code
 * WarmUp.perSecond(100, Duration.ofSeconds(30))   // 6 a second at first, 100 a second after 30 s
 * }</pre>
 *
 * @param permits permits per period at the full rate, and the most one request may ask for
 * @param period the time in which {@code permits} leave at the full rate
 * @param warmUp how long a cold key takes to reach the full rate, and a warm one to become cold
 */
public record WarmUp(long permits, Duration period, Duration warmUp) implements RateLimitPolicy {

    public WarmUp {
        Checks.permits("permits", permits);
        Checks.period("period", period);
        Checks.period("warmUp", warmUp);
    }

    /** {@code permits} per {@code period} after {@code warmUp}. */
    public static WarmUp of(long permits, Duration period, Duration warmUp) {
        return new WarmUp(permits, period, warmUp);
    }

    /** {@code permits} per second after {@code warmUp}. */
    public static WarmUp perSecond(long permits, Duration warmUp) {
        return of(permits, Duration.ofSeconds(1), warmUp);
    }

    @Override
    public boolean settles() {
        return false;
    }

    @Override
    public long capacity() {
        return permits;
    }

    @Override
    public WarmUp share(int n) {
        return new WarmUp(Checks.shareOf("permits", permits, n), period, warmUp);
    }

    @Override
    public <R> R accept(PolicyVisitor<R> visitor) {
        return visitor.visit(this);
    }
}
