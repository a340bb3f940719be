package io.github.reactorratelimit;

import java.time.Duration;
import java.util.Optional;

/**
 * At most {@code max} permits in flight: a permit comes back when the work that holds it completes, fails or
 * is cancelled.
 *
 * <pre>{@code
 * RateLimiter database = RateLimiter.of(ConcurrencyLimit.of(10));
 * query.transform(limitRate(database));   // at most 10 queries in flight
 * }</pre>
 *
 * <p>It needs a release, so plain {@code tryAcquire} and {@code acquire} are refused. The operators and
 * {@link RateLimiter#use} release by themselves; {@link RateLimiter#acquireLease} emits a {@link Lease} to
 * release. There is no retry-after, because it is unknown when the work will end.
 *
 * @param max permits in flight
 * @param lease how long a permit outlives a holder that died, in stores that processes share; leases are
 *     renewed while the holder lives. It has no effect in the local store.
 */
public record ConcurrencyLimit(long max, Duration lease) implements RateLimitPolicy {

    /** The default of {@link #withLease(Duration)}. */
    public static final Duration DEFAULT_LEASE = Duration.ofSeconds(30);

    public ConcurrencyLimit {
        Checks.permits("max", max);
        Checks.period("lease", lease);
    }

    /** At most {@code max} permits in flight. */
    public static ConcurrencyLimit of(long max) {
        return new ConcurrencyLimit(max, DEFAULT_LEASE);
    }

    /** The same limit; permits of a dead holder come back after {@code lease}. */
    public ConcurrencyLimit withLease(Duration lease) {
        return new ConcurrencyLimit(max, lease);
    }

    @Override
    public boolean settles() {
        return false;
    }

    @Override
    public boolean needsRelease() {
        return true;
    }

    @Override
    public long capacity() {
        return max;
    }

    @Override
    public ConcurrencyLimit share(int n) {
        return new ConcurrencyLimit(Checks.shareOf("max", max, n), lease);
    }

    @Override
    public Duration period() {
        return Duration.ZERO;
    }

    @Override
    public Optional<Duration> timeFor(long permits) {
        return Optional.empty();
    }

    @Override
    public <R> R accept(PolicyVisitor<R> visitor) {
        return visitor.visit(this);
    }
}
