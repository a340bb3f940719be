package io.github.reactorratelimit.webflux;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.Decision.Degradation;
import io.github.reactorratelimit.PermitsExceedCapacityException;
import io.github.reactorratelimit.RateLimitExceededException;
import io.github.reactorratelimit.RateLimitException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpStatus;
import org.springframework.http.HttpStatusCode;

/**
 * Why a request was denied. Contains no key, nor anything else that the client sent.
 *
 * @param rule the rule that denied
 * @param reason why
 * @param status the status of the response
 * @param decision the decision of the limiter; null if it was not asked, or failed
 * @param retryAfter the value of the field {@code Retry-After}: later than {@link Decision#retryAfter()}, by rounding
 *     and jitter; null if the response has no such field
 */
public record RateLimitDenial(
        RateLimitRule rule,
        Reason reason,
        HttpStatusCode status,
        @Nullable Decision decision,
        @Nullable Duration retryAfter) {

    /** The reasons. */
    public enum Reason {
        /** The limit is used up. */
        LIMITED,
        /** The request costs more than the limit ever gives at once: it would always be denied. */
        TOO_COSTLY,
        /** The request has no key, and the rule denies such requests. */
        MISSING_KEY,
        /** Nothing is known about the permits: the store is unavailable, or the limiter failed. */
        UNAVAILABLE
    }

    /** Denied by a limiter: the limit is used up, or the store is unavailable and its failure mode denies. */
    static RateLimitDenial by(RateLimitRule rule, Decision decision) {
        return decision.degradation().orElse(null) == Degradation.CLOSED
                ? new RateLimitDenial(rule, Reason.UNAVAILABLE, HttpStatus.SERVICE_UNAVAILABLE, decision, null)
                : new RateLimitDenial(rule, Reason.LIMITED, HttpStatus.TOO_MANY_REQUESTS, decision, null);
    }

    /** What a failure of the rule's limiter leads to; null if the request is allowed. */
    static @Nullable RateLimitDenial by(RateLimitRule rule, RateLimitException failure) {
        if (failure instanceof RateLimitExceededException exceeded) {
            return by(rule, exceeded.decision());
        }
        if (failure instanceof PermitsExceedCapacityException) {
            return new RateLimitDenial(rule, Reason.TOO_COSTLY, HttpStatus.TOO_MANY_REQUESTS, null, null);
        }
        return rule.onFailure() == FailureAction.ALLOW ? null : failed(rule);
    }

    static RateLimitDenial missingKey(RateLimitRule rule, HttpStatusCode status) {
        return new RateLimitDenial(rule, Reason.MISSING_KEY, status, null, null);
    }

    static RateLimitDenial failed(RateLimitRule rule) {
        return new RateLimitDenial(rule, Reason.UNAVAILABLE, HttpStatus.SERVICE_UNAVAILABLE, null, null);
    }

    RateLimitDenial withRetryAfter(Duration retryAfter) {
        return new RateLimitDenial(rule, reason, status, decision, retryAfter);
    }

    @Override
    public String toString() {
        return "denied by rule '" + rule.name() + "': " + reason + ", status " + status.value();
    }
}
