package io.github.reactorratelimit;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * The rule: how many permits per time, in which shape. An immutable value, valid by construction.
 *
 * <pre>{@code
 * RateLimitPolicy policy = Policies.all(TokenBucket.perSecond(10), FixedWindow.of(1_000, Duration.ofDays(1)));
 * }</pre>
 *
 * <p>A policy says nothing about where the state lives or what a denial does: those belong to the {@link
 * RateLimitStore} and the caller. Equal policies are interchangeable.
 */
public sealed interface RateLimitPolicy
        permits TokenBucket,
                Gcra,
                LeakyBucket,
                WarmUp,
                FixedWindow,
                SlidingWindowLog,
                SlidingWindowCounter,
                ConcurrencyLimit,
                CompositePolicy {

    /**
     * The most permits of one request. A request for more can never succeed: it fails immediately with {@link
     * PermitsExceedCapacityException}.
     */
    long capacity();

    /**
     * Whether permits can be {@linkplain RateLimiter#reserve reserved} and settled by what was really spent.
     * Not those of a {@link LeakyBucket} or a {@link WarmUp}, whose slots pass by, nor of a {@link
     * ConcurrencyLimit}, which are not spent.
     */
    default boolean settles() {
        return true;
    }

    /** Whether permits come back by a release instead of time: only those of a {@link ConcurrencyLimit}. */
    default boolean needsRelease() {
        return false;
    }

    /**
     * The period or window that the limit is stated for; of {@link Policies#all} the longest. Zero if there
     * is none.
     */
    Duration period();

    /**
     * The time in which this many permits come back at the sustained rate, rounded up to a nanosecond. Empty
     * where they come back by a release. {@link Policies#all} is as slow as its slowest part.
     */
    default Optional<Duration> timeFor(long permits) {
        return Checks.timeFor(permits, capacity(), period());
    }

    /** The policies that must all allow a request: this one alone, or the parts of {@link Policies#all}. */
    default List<RateLimitPolicy> parts() {
        return List.of(this);
    }

    /**
     * Permits that may wait for one key at the same time: those of a {@link LeakyBucket}, also as a part of
     * {@link Policies#all}. {@link Long#MAX_VALUE} where the policy has no queue.
     */
    default long queueCapacity() {
        return Long.MAX_VALUE;
    }

    /**
     * One {@code n}-th of this policy, for {@code n} instances that share a limit without a common
     * store: the shares together never allow more than the whole.
     *
     * @param n number of instances, at least 1
     * @return the share of one instance
     * @throws IllegalArgumentException if {@code n < 1}, or if there is not at least one permit for each
     */
    RateLimitPolicy share(int n);

    /** Calls the visitor's method for this kind of policy. */
    <R> R accept(PolicyVisitor<R> visitor);
}
