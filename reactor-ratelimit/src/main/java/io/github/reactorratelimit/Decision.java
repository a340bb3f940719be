package io.github.reactorratelimit;

import io.github.reactorratelimit.RateLimitRecorder.Degradation;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The answer to one request: allowed or denied, and what a caller needs to know about the limit. An
 * immutable value; it never prints the key, which may be a secret.
 *
 * <p>An allowed decision carries the {@link Debit} that {@link RateLimiter#refund} gives back.
 */
public final class Decision implements Verdict {

    private final boolean allowed;
    private final RateLimitPolicy policy;
    private final long permits;
    private final long limit;
    private final long remaining;
    private final long retryAfterNanos;
    private final long resetAfterNanos;
    private final @Nullable Debit debit;
    private final @Nullable Degradation degradation;

    private Decision(
            boolean allowed,
            RateLimitPolicy policy,
            long permits,
            Quota quota,
            long retryAfterNanos,
            @Nullable Debit debit,
            @Nullable Degradation degradation) {
        this.allowed = allowed;
        this.policy = Objects.requireNonNull(policy, "policy");
        this.permits = permits;
        this.limit = quota.limit();
        this.remaining = quota.remaining();
        this.resetAfterNanos = quota.resetAfterNanos();
        this.retryAfterNanos = retryAfterNanos;
        this.debit = debit;
        this.degradation = degradation;
    }

    /** A denial. Names no debit: a constructor that names a class which is not loaded yet is not inlined. */
    private Decision(RateLimitPolicy policy, long permits, Quota quota, long retryAfterNanos) {
        this.allowed = false;
        this.policy = Objects.requireNonNull(policy, "policy");
        this.permits = permits;
        this.limit = quota.limit();
        this.remaining = quota.remaining();
        this.resetAfterNanos = quota.resetAfterNanos();
        this.retryAfterNanos = retryAfterNanos;
        this.debit = null;
        this.degradation = null;
    }

    /**
     * What a key has left, as a decision reports it.
     *
     * @param limit permits of the policy when nothing was spent
     * @param remaining permits that could be had at once
     * @param resetAfterNanos time until nothing is spent any more; {@link #UNKNOWN} if nobody can know
     */
    public record Quota(long limit, long remaining, long resetAfterNanos) {
        /** The time that nobody can know: a permit in flight comes back when its holder is done. */
        public static final long UNKNOWN = Long.MAX_VALUE;
    }

    /** An allowed request: {@code debit} is what was taken, {@code quota} what is left after it. */
    public static Decision allow(RateLimitPolicy policy, Quota quota, Debit debit) {
        return new Decision(
                true, policy, debit.permits(), quota, Quota.UNKNOWN, Objects.requireNonNull(debit, "debit"), null);
    }

    /** A request that would be allowed, but was only looked at: nothing was taken. */
    public static Decision wouldAllow(RateLimitPolicy policy, long permits, Quota quota) {
        return new Decision(true, policy, permits, quota, Quota.UNKNOWN, null, null);
    }

    /** A denied request; {@code retryAfterNanos} is {@link Quota#UNKNOWN} if nobody can know it. */
    public static Decision deny(RateLimitPolicy policy, long permits, Quota quota, long retryAfterNanos) {
        return new Decision(policy, permits, quota, retryAfterNanos);
    }

    /** The same decision, marked as made in this way without the store because that did not answer. */
    public Decision asDegraded(Degradation how) {
        Quota quota = new Quota(limit, remaining, resetAfterNanos);
        return new Decision(
                allowed, policy, permits, quota, retryAfterNanos, debit, Objects.requireNonNull(how, "how"));
    }

    /** Whether the request may go ahead. */
    public boolean allowed() {
        return allowed;
    }

    /** The policy that decided; of a composite, the part that denied or has least left. */
    public RateLimitPolicy policy() {
        return policy;
    }

    /** Permits that were asked for. */
    public long permits() {
        return permits;
    }

    /** Permits the policy gives to a key that spent nothing. */
    public long limit() {
        return limit;
    }

    /** Permits the key could have at once after this decision. */
    public long remaining() {
        return remaining;
    }

    /**
     * Time after which the same request is allowed, if nobody else asks for the key meanwhile: one tick
     * earlier it would be denied. Empty if it was allowed, and for a {@link ConcurrencyLimit}.
     */
    public Optional<Duration> retryAfter() {
        return retryAfterNanos == Quota.UNKNOWN ? Optional.empty() : Optional.of(Duration.ofNanos(retryAfterNanos));
    }

    /** Time until the key has its whole limit again. Empty for a {@link ConcurrencyLimit} with permits in flight. */
    public Optional<Duration> resetAfter() {
        return resetAfterNanos == Quota.UNKNOWN ? Optional.empty() : Optional.of(Duration.ofNanos(resetAfterNanos));
    }

    /** What was taken, for whoever gives it back; empty if denied or only peeked at. */
    public Optional<Debit> debit() {
        return Optional.ofNullable(debit);
    }

    /** Whether it was made without the store, because that did not answer. */
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
