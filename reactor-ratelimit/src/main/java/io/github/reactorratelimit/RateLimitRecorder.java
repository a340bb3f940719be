package io.github.reactorratelimit;

/**
 * Counts what a limiter does, for meters or logs of your own; {@code MicrometerRecorder} is one for
 * Micrometer. Override what you need.
 *
 * <pre>{@code
 * LongAdder denied = new LongAdder();
 * RateLimitRecorder counting = new RateLimitRecorder() {
 *     public void decided(boolean allowed, long permits) {
 *         if (!allowed) denied.increment();
 *     }
 * };
 * RateLimiter limiter = RateLimiter.builder(policy).recorder(counting).build();
 * }</pre>
 *
 * <p>Many threads call it on the hot path: an implementation must be fast and must not block. If it throws,
 * the first exception is logged and no request fails. No method gets a key, because a key may be a secret.
 */
public interface RateLimitRecorder {

    /** Records nothing. */
    RateLimitRecorder NOOP = new RateLimitRecorder() {};

    /** How a wait ended. */
    enum WaitOutcome {
        /** The permits were granted. */
        GRANTED,
        /** The waiter was denied: its wait became too long. */
        DENIED,
        /** The subscriber cancelled. */
        CANCELLED,
        /** The limiter was closed. */
        CLOSED
    }

    /** What can happen besides decisions and waits. */
    enum Event {
        /** Permits came back: by a refund, or because a lease was released. */
        REFUNDED,
        /**
         * Permits could not come back, because the store did not answer or a refund would cost it too much.
         * They stay spent.
         */
        REFUND_LOST,
        /** Permits were reserved, to be settled later. */
        RESERVED,
        /** A reservation was settled: the number of permits that it really spent. */
        SETTLED,
        /** Permits spent beyond a reservation were not charged, because the key's debt is at its maximum. */
        UNCHARGED,
        /**
         * Permits could not be charged, because the store did not answer: spent beyond a reservation, or
         * granted without the store.
         */
        CHARGE_LOST,
        /**
         * Permits of a {@link ConcurrencyLimit} are in use here, but the store counts them as free: the lease
         * was not renewed in time, or the store lost it. More work may be in flight than the limit allows.
         */
        LEASE_LOST,
        /**
         * Prepaid permits were not spent in time and were given back. Other processes could not use them
         * meanwhile.
         */
        PREPAID_EXPIRED,
        /**
         * Prepaid permits could not be given back, because the store did not answer or the policy changed.
         * They stay spent.
         */
        PREPAID_LOST,
        /** Prepaid permits were requested, and no answer came: the store may have debited them or not. */
        PREPAID_UNANSWERED,
        /** The {@linkplain RateLimiterBuilder#shadow shadow} would have allowed a request. */
        SHADOW_ALLOWED,
        /** The shadow would have denied a request. */
        SHADOW_DENIED,
        /**
         * The shadow missed a request, a refund, a reset or a pause because its store failed. Concerns no
         * number of permits.
         */
        SHADOW_FAILED,
        /**
         * The store answered a call with an error that is no outage, such as a missing permission. The
         * requests of that call fail with a {@link RateLimitException}. Concerns no number of permits.
         */
        STORE_FAILED,
        /** A request was allowed without the store, which did not answer. */
        DEGRADED_OPEN,
        /** A request was denied without the store, which did not answer. */
        DEGRADED_CLOSED,
        /** A local share of the limit decided, because the store did not answer. */
        DEGRADED_LOCAL
    }

    /** A request was allowed or denied, immediately or after a wait. */
    default void decided(boolean allowed, long permits) {}

    /**
     * The number of waiters changed.
     *
     * @param change 1 when a request joins a queue, -1 when it leaves
     */
    default void queueChanged(int change) {}

    /** A wait ended {@code waitedNanos} after the request joined a queue. */
    default void waited(WaitOutcome outcome, long waitedNanos) {}

    /**
     * A grant was delivered {@code lateNanos} after it was due, by the limiter's clock. A grant that a refund
     * made possible was due at the refund. Under a bucket policy every delivered waiter is measured. Under
     * other policies, and under {@link LeakyBucket#strictSpacing()}, only a waiter whose due time was
     * scheduled: if one late timer grants several requests, the first of them.
     */
    default void deliveredLate(long lateNanos) {}

    /**
     * Something else happened.
     *
     * @param permits how many permits it concerns; 0 where the event concerns no number of permits
     */
    default void counted(Event event, long permits) {}

    /**
     * The store compared its server's clock with the clock of this machine. It does so from time to time.
     *
     * @param aheadNanos how far the server's clock is ahead; negative if it is behind
     * @param errorNanos the possible error: half of the call's duration plus one tick of this machine's clock
     */
    default void clockRead(long aheadNanos, long errorNanos) {}
}
