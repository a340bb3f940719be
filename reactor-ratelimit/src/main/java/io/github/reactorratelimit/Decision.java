package io.github.reactorratelimit;

import io.github.reactorratelimit.RateLimitRecorder.Event;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Whether a request was allowed, and what a caller needs to know about the limit. Immutable; it never prints
 * the key, which may be a secret.
 *
 * <pre>{@code
 * limiter.tryAcquire("alice").map(decision -> decision.allowed()
 *         ? "remaining " + decision.remaining()
 *         : "retry after " + decision.retryAfter().orElse(Duration.ofSeconds(1)));
 * }</pre>
 *
 * <p>An allowed decision carries the {@link Debit} that {@link RateLimiter#refund} gives back.
 */
public final class Decision {

    /** How a decision was made without the store. */
    public enum Degradation {
        /** Allowed because the store did not answer. */
        OPEN(Event.DEGRADED_OPEN),
        /** Denied because the store did not answer. */
        CLOSED(Event.DEGRADED_CLOSED),
        /** Decided by a local share of the limit because the store did not answer. */
        LOCAL(Event.DEGRADED_LOCAL);

        private final Event event;

        Degradation(Event event) {
            this.event = event;
        }

        /** The event by which a {@link RateLimitRecorder} counts it. */
        public Event event() {
            return event;
        }
    }

    /** Loaded with this class: the compiler does not inline a constructor that names a class not loaded yet. */
    static final List<Class<?>> NAMED_BY_THE_CONSTRUCTOR = List.of(Debit.class, Degradation.class);

    private final boolean allowed;
    private final RateLimitPolicy policy;
    private final long permits;
    private final long limit;
    private final long remaining;
    private final long resetAfterNanos;

    /** Retry-after of a denial; of an allowed request the time until more permits can be had. */
    private final long nextNanos;

    private final @Nullable Debit debit;
    private final @Nullable Degradation degradation;

    /** Takes numbers, not a {@link Quota}: a decision in memory allocates nothing else. */
    private Decision(
            boolean allowed,
            RateLimitPolicy policy,
            long permits,
            long limit,
            long remaining,
            long resetAfterNanos,
            long nextNanos,
            @Nullable Debit debit,
            @Nullable Degradation degradation) {
        this.allowed = allowed;
        this.policy = Objects.requireNonNull(policy, "policy");
        this.permits = permits;
        this.limit = limit;
        this.remaining = remaining;
        this.resetAfterNanos = resetAfterNanos;
        this.nextNanos = nextNanos;
        this.debit = debit;
        this.degradation = degradation;
    }

    /**
     * What a key has left, as a decision reports it.
     *
     * @param limit permits of the policy when nothing was spent
     * @param remaining permits that are available now
     * @param resetAfterNanos time until nothing is spent any more; {@link #UNKNOWN} if it cannot be known
     * @param moreAfterNanos time until more than {@code remaining} permits are available; {@link #UNKNOWN} if
     *     it is not known
     */
    public record Quota(long limit, long remaining, long resetAfterNanos, long moreAfterNanos) {
        /** A time that cannot be known: a permit in flight comes back when its holder is done. */
        public static final long UNKNOWN = Long.MAX_VALUE;

        /** Without the time until more permits can be had. */
        public Quota(long limit, long remaining, long resetAfterNanos) {
            this(limit, remaining, resetAfterNanos, UNKNOWN);
        }
    }

    /** An allowed request: {@code debit} is what was taken, {@code quota} what is left after it. */
    public static Decision allow(RateLimitPolicy policy, Quota quota, Debit debit) {
        return allow(policy, quota.limit(), quota.remaining(), quota.resetAfterNanos(), quota.moreAfterNanos(), debit);
    }

    /** An allowed request, with the numbers of a {@link Quota}. */
    public static Decision allow(
            RateLimitPolicy policy,
            long limit,
            long remaining,
            long resetAfterNanos,
            long moreAfterNanos,
            Debit debit) {
        return new Decision(
                true, policy, debit.permits(), limit, remaining, resetAfterNanos, moreAfterNanos, debit, null);
    }

    /**
     * An allowed request whose permits are spent for good: it says nothing about what is left. A store makes
     * one for each policy, so that a decision on the fast path allocates nothing.
     */
    public static Decision spent(RateLimitPolicy policy) {
        return new Decision(true, policy, 1, policy.capacity(), 0, Quota.UNKNOWN, Quota.UNKNOWN, null, null);
    }

    /** A request that would be allowed, but takes nothing. */
    public static Decision wouldAllow(RateLimitPolicy policy, long permits, Quota quota) {
        return new Decision(
                true,
                policy,
                permits,
                quota.limit(),
                quota.remaining(),
                quota.resetAfterNanos(),
                quota.moreAfterNanos(),
                null,
                null);
    }

    /** A denied request; {@code retryAfterNanos} is {@link Quota#UNKNOWN} if it cannot be known. */
    public static Decision deny(RateLimitPolicy policy, long permits, Quota quota, long retryAfterNanos) {
        return deny(policy, permits, quota.limit(), quota.remaining(), quota.resetAfterNanos(), retryAfterNanos);
    }

    /** A denied request of which nothing else is known; {@code retryAfterNanos} may be {@link Quota#UNKNOWN}. */
    public static Decision deny(RateLimitPolicy policy, long permits, long retryAfterNanos) {
        return deny(policy, permits, policy.capacity(), 0, Quota.UNKNOWN, retryAfterNanos);
    }

    /** A denied request, with the numbers of a {@link Quota}. */
    public static Decision deny(
            RateLimitPolicy policy,
            long permits,
            long limit,
            long remaining,
            long resetAfterNanos,
            long retryAfterNanos) {
        return new Decision(false, policy, permits, limit, remaining, resetAfterNanos, retryAfterNanos, null, null);
    }

    /** The same decision, marked as made in this way without the store because that did not answer. */
    public Decision asDegraded(Degradation how) {
        Objects.requireNonNull(how, "how");
        return new Decision(allowed, policy, permits, limit, remaining, resetAfterNanos, nextNanos, debit, how);
    }

    /** Whether the request may go ahead. */
    public boolean allowed() {
        return allowed;
    }

    /** The policy that decided; of a composite, the part that denied or has least left. */
    public RateLimitPolicy policy() {
        return policy;
    }

    /** Permits that were requested. */
    public long permits() {
        return permits;
    }

    /** Permits the policy gives to a key that spent nothing. */
    public long limit() {
        return limit;
    }

    /** Permits that the key could have immediately after this decision. */
    public long remaining() {
        return remaining;
    }

    /**
     * Time after which the same request is allowed, if no other request takes permits of the key meanwhile:
     * one tick earlier it would be denied. Empty if it was allowed, and for a {@link ConcurrencyLimit}.
     */
    public Optional<Duration> retryAfter() {
        return allowed || nextNanos == Quota.UNKNOWN ? Optional.empty() : Optional.of(Duration.ofNanos(nextNanos));
    }

    /**
     * Time until the key has its whole limit again. Empty for a {@link ConcurrencyLimit} with permits in
     * flight.
     */
    public Optional<Duration> resetAfter() {
        return resetAfterNanos == Quota.UNKNOWN ? Optional.empty() : Optional.of(Duration.ofNanos(resetAfterNanos));
    }

    /**
     * Time after which {@link #remaining} is larger, if no other request takes permits of the key meanwhile.
     * Empty if the request was denied, if nothing is spent, for a {@link ConcurrencyLimit}, and if the store
     * does not tell.
     */
    public Optional<Duration> moreAfter() {
        return !allowed || nextNanos == Quota.UNKNOWN ? Optional.empty() : Optional.of(Duration.ofNanos(nextNanos));
    }

    /** What was taken, for a refund; empty if denied or only peeked at. */
    public Optional<Debit> debit() {
        return Optional.ofNullable(debit);
    }

    @Nullable
    Debit debitOrNull() {
        return debit;
    }

    /** Whether it was made without the store, which did not answer. */
    public boolean degraded() {
        return degradation != null;
    }

    /** How it was made without the store, which did not answer; empty if the store made it. */
    public Optional<Degradation> degradation() {
        return Optional.ofNullable(degradation);
    }

    @Override
    public String toString() {
        return (degradation == null ? "" : "degraded, ") + (allowed ? "allowed " : "denied ") + permits + " of "
                + policy
                + ", remaining " + remaining + "/" + limit
                + retryAfter().map(after -> ", retry after " + after).orElse("")
                + resetAfter().map(after -> ", reset after " + after).orElse("");
    }
}
