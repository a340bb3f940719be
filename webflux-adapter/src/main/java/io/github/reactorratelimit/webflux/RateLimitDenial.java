package io.github.reactorratelimit.webflux;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.Decision.Degradation;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpStatus;
import org.springframework.http.HttpStatusCode;

/** Why a request was denied, and by which rule. Has no key in it, nor anything else that the client sent. */
public final class RateLimitDenial {

    /** The reasons. */
    public enum Reason {
        /** Its limit is used up. */
        LIMITED,
        /** It costs more than its limit ever gives at once: it would be denied at any time. */
        TOO_COSTLY,
        /** It has no key, and the rule denies such requests. */
        MISSING_KEY,
        /** Nobody knows whether there is a permit: the store does not answer, or the limiter failed. */
        UNAVAILABLE
    }

    private final RateLimitRule rule;
    private final Reason reason;
    private final HttpStatusCode status;
    private final @Nullable Decision decision;
    private final @Nullable Duration retryAfter;

    private RateLimitDenial(RateLimitRule rule, Reason reason, HttpStatusCode status, @Nullable Decision decision) {
        this(rule, reason, status, decision, null);
    }

    private RateLimitDenial(
            RateLimitRule rule,
            Reason reason,
            HttpStatusCode status,
            @Nullable Decision decision,
            @Nullable Duration retryAfter) {
        this.rule = Objects.requireNonNull(rule, "rule");
        this.reason = reason;
        this.status = status;
        this.decision = decision;
        this.retryAfter = retryAfter;
    }

    /** Denied by a limiter: because nothing is left, of the share either that it gives out while its store is away, or because that is away. */
    static RateLimitDenial by(RateLimitRule rule, Decision decision) {
        return decision.degradation().filter(how -> how == Degradation.CLOSED).isPresent()
                ? new RateLimitDenial(rule, Reason.UNAVAILABLE, HttpStatus.SERVICE_UNAVAILABLE, decision)
                : new RateLimitDenial(rule, Reason.LIMITED, HttpStatus.TOO_MANY_REQUESTS, decision);
    }

    static RateLimitDenial tooCostly(RateLimitRule rule) {
        return new RateLimitDenial(rule, Reason.TOO_COSTLY, HttpStatus.TOO_MANY_REQUESTS, null);
    }

    static RateLimitDenial missingKey(RateLimitRule rule, HttpStatusCode status) {
        return new RateLimitDenial(rule, Reason.MISSING_KEY, status, null);
    }

    static RateLimitDenial failed(RateLimitRule rule) {
        return new RateLimitDenial(rule, Reason.UNAVAILABLE, HttpStatus.SERVICE_UNAVAILABLE, null);
    }

    /** The same, with what the client is told. */
    RateLimitDenial withRetryAfter(long seconds) {
        return new RateLimitDenial(rule, reason, status, decision, Duration.ofSeconds(seconds));
    }

    /** The rule that denied. */
    public RateLimitRule rule() {
        return rule;
    }

    /** Why. */
    public Reason reason() {
        return reason;
    }

    /** The status of the answer. */
    public HttpStatusCode status() {
        return status;
    }

    /**
     * What the field {@code Retry-After} of the response says: later than the {@linkplain Decision#retryAfter() decision} does,
     * by rounding and jitter. Empty if the response has no such field.
     */
    public Optional<Duration> retryAfter() {
        return Optional.ofNullable(retryAfter);
    }

    /** What the limiter answered; empty if it was not asked, or failed. */
    public Optional<Decision> decision() {
        return Optional.ofNullable(decision);
    }

    @Override
    public String toString() {
        return "denied by rule '" + rule.name() + "': " + reason + ", status " + status.value();
    }
}
