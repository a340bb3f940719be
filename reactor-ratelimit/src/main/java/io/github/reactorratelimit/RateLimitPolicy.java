package io.github.reactorratelimit;

/**
 * The rule: how many permits per time, in which shape. An immutable value, valid by construction.
 *
 * <p>A policy says nothing about where the state lives or what happens on a denial: those belong to
 * the {@link RateLimitStore} and to whoever asks. Two equal policies are interchangeable.
 */
public sealed interface RateLimitPolicy
        permits TokenBucket,
                Gcra,
                LeakyBucket,
                FixedWindow,
                SlidingWindowLog,
                SlidingWindowCounter,
                ConcurrencyLimit,
                CompositePolicy {

    /**
     * The most permits one request may ask for. Asking for more can never succeed and is answered with
     * {@link PermitsExceedCapacityException} at once, never with an endless wait.
     */
    long capacity();

    /**
     * Whether what was taken can be {@linkplain RateLimiter#reserve settled} by what was really spent. Not for a {@link
     * LeakyBucket}, whose slots pass by, nor for a {@link ConcurrencyLimit}, whose permits are not spent.
     */
    default boolean settles() {
        return true;
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
}
