package io.github.reactorratelimit.fairness;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.Decision.Degradation;
import io.github.reactorratelimit.Lease;
import io.github.reactorratelimit.RateLimitExceededException;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.Reservation;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** What a call requests. A grant serves any call that requests the same, and no other. */
record RequestedPermits(Form form, long permits) {

    /** How permits are granted. */
    enum Form {
        /** For good: a {@link Decision}. */
        SPENT,
        /** Until they are released: a {@link Lease}. */
        LEASED,
        /** By estimate: a {@link Reservation}. */
        RESERVED
    }

    /** Yields the permits in their form; a denial is a denied {@link Decision}, or an error that carries it. */
    Mono<?> request(RateLimiter limiter, String key, Duration maxWait) {
        return switch (form) {
            case SPENT -> limiter.acquire(key, permits, maxWait);
            case LEASED -> limiter.acquireLease(key, permits, maxWait);
            case RESERVED -> limiter.reserve(key, permits, maxWait);
        };
    }

    /** Gives back a grant that found no call. */
    Mono<?> giveBack(RateLimiter limiter, Object granted) {
        return switch (form) {
            case SPENT -> limiter.refund((Decision) granted);
            case LEASED -> ((Lease) granted).release();
            case RESERVED -> ((Reservation) granted).settle(0);
        };
    }

    /** The denial of a call that waited in vain, or would have to. */
    Object deny(RateLimiter limiter, @Nullable Degradation degradation) {
        Decision denied = Decision.deny(limiter.policy(), permits, Decision.UNKNOWN);
        return denial(limiter, degradation == null ? denied : denied.asDegraded(degradation));
    }

    /** A denial as the limiter itself would signal it. */
    Object denial(RateLimiter limiter, Decision denied) {
        return form == Form.SPENT ? denied : new RateLimitExceededException(denied, limiter.name());
    }

    /** The decision in an answer of the limiter, null if it has none. */
    static @Nullable Decision decisionIn(Object answer) {
        if (answer instanceof Decision decision) {
            return decision;
        } else if (answer instanceof RateLimitExceededException exceeded) {
            return exceeded.decision();
        } else if (answer instanceof Lease lease) {
            return lease.decision();
        }
        return answer instanceof Reservation reservation ? reservation.decision() : null;
    }
}
