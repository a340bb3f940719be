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

    /** A time that cannot be known: a permit in flight comes back when its holder is done. */
    public static final long UNKNOWN = Long.MAX_VALUE;

    /** Loaded with this class: the compiler does not inline a constructor that names a class not loaded yet. */
    static final List<Class<?>> NAMED_BY_THE_CONSTRUCTOR = List.of(Debit.class, Degradation.class);

    private final boolean allowed;
    private final RateLimitPolicy policy;
    private final long permits;
    private final long remaining;
    private final long resetAfterNanos;

    /** Retry-after of a denial; of an allowed request the time until more permits can be had. */
    private final long nextNanos;

    private final @Nullable Debit debit;
    private final @Nullable Degradation degradation;

    private Decision(
            boolean allowed,
            RateLimitPolicy policy,
            long permits,
            long remaining,
            long resetAfterNanos,
            long nextNanos,
            @Nullable Debit debit,
            @Nullable Degradation degradation) {
        this.allowed = allowed;
        this.policy = Objects.requireNonNull(policy, "policy");
        this.permits = permits;
        this.remaining = remaining;
        this.resetAfterNanos = resetAfterNanos;
        this.nextNanos = nextNanos;
        this.debit = debit;
        this.degradation = degradation;
    }

    /**
     * An allowed request.
     *
     * @param remaining permits that are available after it
     * @param resetAfterNanos time until nothing is spent any more, or {@link #UNKNOWN}
     * @param moreAfterNanos time until more than {@code remaining} permits are available, or {@link #UNKNOWN}
     * @param debit what was taken
     */
    public static Decision allow(
            RateLimitPolicy policy, long remaining, long resetAfterNanos, long moreAfterNanos, Debit debit) {
        return new Decision(true, policy, debit.permits(), remaining, resetAfterNanos, moreAfterNanos, debit, null);
    }

    /**
     * An allowed request whose permits are spent for good: it says nothing about what is left. A store makes
     * one for each policy, so that a decision on the fast path allocates nothing.
     */
    public static Decision spent(RateLimitPolicy policy) {
        return new Decision(true, policy, 1, 0, UNKNOWN, UNKNOWN, null, null);
    }

    /** A request that would be allowed, with the numbers of {@link #allow}, but takes nothing. */
    public static Decision wouldAllow(
            RateLimitPolicy policy, long permits, long remaining, long resetAfterNanos, long moreAfterNanos) {
        return new Decision(true, policy, permits, remaining, resetAfterNanos, moreAfterNanos, null, null);
    }

    /** A denied request of which nothing else is known; {@code retryAfterNanos} may be {@link #UNKNOWN}. */
    public static Decision deny(RateLimitPolicy policy, long permits, long retryAfterNanos) {
        return deny(policy, permits, 0, UNKNOWN, retryAfterNanos);
    }

    /**
     * A denied request.
     *
     * @param remaining permits that are available nevertheless
     * @param resetAfterNanos time until nothing is spent any more, or {@link #UNKNOWN}
     * @param retryAfterNanos time until the request would be allowed, or {@link #UNKNOWN}
     */
    public static Decision deny(
            RateLimitPolicy policy, long permits, long remaining, long resetAfterNanos, long retryAfterNanos) {
        return new Decision(false, policy, permits, remaining, resetAfterNanos, retryAfterNanos, null, null);
    }

    /** The same decision, marked as made in this way without the store because that did not answer. */
    public Decision asDegraded(Degradation how) {
        Objects.requireNonNull(how, "how");
        return new Decision(allowed, policy, permits, remaining, resetAfterNanos, nextNanos, debit, how);
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
        return policy.capacity();
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
        return allowed || nextNanos == UNKNOWN ? Optional.empty() : Optional.of(Duration.ofNanos(nextNanos));
    }

    /**
     * Time until the key has its whole limit again. Empty for a {@link ConcurrencyLimit} with permits in
     * flight.
     */
    public Optional<Duration> resetAfter() {
        return resetAfterNanos == UNKNOWN ? Optional.empty() : Optional.of(Duration.ofNanos(resetAfterNanos));
    }

    /**
     * Time after which {@link #remaining} is larger, if no other request takes permits of the key meanwhile.
     * Empty if the request was denied, if nothing is spent, for a {@link ConcurrencyLimit}, and if the store
     * does not tell.
     */
    public Optional<Duration> moreAfter() {
        return !allowed || nextNanos == UNKNOWN ? Optional.empty() : Optional.of(Duration.ofNanos(nextNanos));
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
                + ", remaining " + remaining + "/" + limit()
                + retryAfter().map(after -> ", retry after " + after).orElse("")
                + resetAfter().map(after -> ", reset after " + after).orElse("");
    }
}
