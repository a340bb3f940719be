package io.github.reactorratelimit;

/**
 * What a limiter tells about itself. Called on the hot path by many threads: implementations must be
 * fast, must not block and must not throw. No call carries a key, which may be a secret.
 */
public interface RateLimitRecorder {

    /** Records nothing. */
    RateLimitRecorder NOOP = new RateLimitRecorder() {};

    /** How a wait ended. */
    enum WaitOutcome {
        /** Its turn came. */
        GRANTED,
        /** It was denied while waiting: re-planning made the wait too long. */
        DENIED,
        /** The subscriber left. */
        CANCELLED,
        /** The limiter was closed. */
        CLOSED
    }

    /** Why a decision was made without the store. */
    enum Degradation {
        /** Allowed because the store did not answer. */
        OPEN,
        /** Denied because the store did not answer. */
        CLOSED,
        /** Decided by a local share of the limit because the store did not answer. */
        LOCAL
    }

    /** Why permits that were leased from a store were not spent. */
    enum Stranding {
        /** Their time was over: they were kept from others all that time, and went back. */
        EXPIRED,
        /** They could not go back: the store did not answer, or another policy rules. They are lost to the strict side. */
        LOST,
        /** They were asked for, and no answer came: perhaps they were taken from the store, perhaps not. */
        UNANSWERED
    }

    /** A request was answered, at once or after a wait. */
    default void decided(boolean allowed, long permits) {}

    /** A request joined a queue. */
    default void waitStarted() {}

    /** A request left a queue {@code waitedNanos} after it joined. */
    default void waitEnded(WaitOutcome outcome, long waitedNanos) {}

    /** Permits came back. */
    default void refunded(long permits) {}

    /** Permits could not be given back, because the store did not answer; they are lost to the strict side. */
    default void refundLost(long permits) {}

    /**
     * Permits of a {@link ConcurrencyLimit} are still held here, but the store counts them as free: its lease ended
     * because it could not be renewed in time, or the store lost it. Others may have them too.
     */
    default void leaseLost(long permits) {}

    /** Permits were reserved, to be settled later. */
    default void reserved(long permits) {}

    /** A reservation was settled: so many were reserved, and so many were really spent. */
    default void settled(long reserved, long actual) {}

    /** Permits that were spent beyond what was reserved were not charged: the key owes as much as it may. */
    default void uncharged(long permits) {}

    /**
     * Permits could not be charged, because the store did not answer: they were given out without it, or spent beyond
     * what was reserved.
     */
    default void chargeLost(long permits) {}

    /** The {@linkplain RateLimiterBuilder#shadow shadow} was asked, and would have answered so. */
    default void shadowDecided(boolean allowed, long permits) {}

    /** The shadow could not be asked, or could not take part in a refund, a reset or a pause; nobody else noticed. */
    default void shadowFailed() {}

    /**
     * A request that waited was told of its turn so long after it was due, by the clock of the limiter. Of those whose turn was
     * known beforehand; where several are let through by one late timer that is the first of them, but for a {@link LeakyBucket}.
     */
    default void toldLate(long lateNanos) {}

    /**
     * The clock of the server was read, now and then: it is ahead of that of this machine by so much.
     *
     * @param aheadNanos negative if it is behind
     * @param errorNanos how far that may be from the truth: half of the time that the answer took, and the tick of this machine's clock
     */
    default void clockRead(long aheadNanos, long errorNanos) {}

    /** Permits that were leased from a store, to be spent in this process, were not. */
    default void leaseStranded(Stranding how, long permits) {}

    /**
     * A grant of a key that is {@linkplain RateLimiterBuilder#audit audited} was judged.
     *
     * @param excess how many of the permits the policy cannot have given
     */
    default void grantAudited(long permits, long excess) {}

    /**
     * A denial of a key that is {@linkplain RateLimiterBuilder#audit audited} was judged.
     *
     * @param wrong whether the permits must have been there
     */
    default void denialAudited(long permits, boolean wrong) {}

    /** A decision was made without the store. */
    default void degraded(Degradation degradation) {}
}
