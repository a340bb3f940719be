package io.github.reactorratelimit.fairness;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.Decision.Degradation;
import io.github.reactorratelimit.Lease;
import io.github.reactorratelimit.RateLimitExceededException;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.Reservation;
import org.jspecify.annotations.Nullable;

/** Denials, in the form in which the limiter itself would say them. */
final class Denials {

    private Denials() {}

    /** Of who waited in vain, or would have to. */
    static Object deny(RateLimiter limiter, Terms terms, @Nullable Degradation degradation) {
        RateLimitPolicy policy = limiter.policy();
        Decision.Quota nothingLeft = new Decision.Quota(policy.capacity(), 0, Decision.Quota.UNKNOWN);
        Decision denied = Decision.deny(policy, terms.permits(), nothingLeft, Decision.Quota.UNKNOWN);
        return as(limiter, terms, degradation == null ? denied : denied.asDegraded(degradation));
    }

    static Object as(RateLimiter limiter, Terms terms, Decision denied) {
        return terms.kind() == Kind.SPENT ? denied : new RateLimitExceededException(denied, limiter.name());
    }

    static @Nullable Decision in(Object outcome) {
        Decision decision = decisionIn(outcome);
        return decision == null || decision.allowed() ? null : decision;
    }

    /** Whether the limiter's store is away, and waiting for it is not what the limiter was told to do: nobody knows what is left, or when. */
    static boolean isFinal(Decision denied) {
        return denied.degraded() && denied.resetAfter().isEmpty();
    }

    /** How the limiter answered without its store; null if it did not. */
    static @Nullable Degradation degradationIn(Object outcome) {
        Decision decision = decisionIn(outcome);
        return decision == null ? null : decision.degradation().orElse(null);
    }

    private static @Nullable Decision decisionIn(Object outcome) {
        if (outcome instanceof Decision decision) {
            return decision;
        } else if (outcome instanceof RateLimitExceededException exceeded) {
            return exceeded.decision();
        } else if (outcome instanceof Lease lease) {
            return lease.decision();
        }
        return outcome instanceof Reservation reservation ? reservation.decision() : null;
    }
}
