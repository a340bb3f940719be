package io.github.reactorratelimit;

import java.time.Duration;
import java.util.Optional;

/**
 * The generic cell rate algorithm: permits are spaced by {@code period / permits}, and up to {@code burst} of
 * them may come early. It decides like a token bucket of capacity {@code burst}.
 *
 * <pre>{@code
 * new Gcra(100, Duration.ofSeconds(1), 20)   // 100 per second, bursts of up to 20
 * }</pre>
 *
 * <p>Worst case in any half-open window {@code W}: {@code burst + rate * W}. Waiters are debited when their
 * permits come due, up to 20 ms before a late timer lets them leave: emissions keep that bound over {@code W}
 * + 20 ms.
 *
 * @param permits permits per period
 * @param period the time in which {@code permits} become available
 * @param burst permits that may be used at one instant by a key that was idle
 */
public record Gcra(long permits, Duration period, long burst) implements RateLimitPolicy {

    public Gcra {
        Checks.permits("permits", permits);
        Checks.period("period", period);
        Checks.permits("burst", burst);
        Checks.fillTime("burst", burst, permits, period);
    }

    /** {@code permits} per {@code period}, with a burst of as many. */
    public static Gcra of(long permits, Duration period) {
        return new Gcra(permits, period, permits);
    }

    /** {@code permits} per second, with a burst of as many. */
    public static Gcra perSecond(long permits) {
        return of(permits, Duration.ofSeconds(1));
    }

    /** {@code permits} per minute, with a burst of as many. */
    public static Gcra perMinute(long permits) {
        return of(permits, Duration.ofMinutes(1));
    }

    /** The same rate with another burst. */
    public Gcra withBurst(long burst) {
        return new Gcra(permits, period, burst);
    }

    @Override
    public long capacity() {
        return burst;
    }

    @Override
    public Gcra share(int n) {
        return new Gcra(permits, period.multipliedBy(n), Checks.shareOf("burst", burst, n));
    }

    @Override
    public Optional<Duration> timeFor(long permits) {
        return Checks.timeFor(permits, this.permits, period);
    }

    @Override
    public <R> R accept(PolicyVisitor<R> visitor) {
        return visitor.visit(this);
    }
}
