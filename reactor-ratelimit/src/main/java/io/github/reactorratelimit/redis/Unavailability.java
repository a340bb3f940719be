package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimitRecorder.Degradation;
import io.github.reactorratelimit.RateLimiter;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** What a limiter answers while Redis does not; every such answer is marked and counted. */
final class Unavailability {

    private final LimiterSettings settings;
    private final FailureMode mode;
    private final Breaker breaker;
    private final @Nullable RateLimiter share;

    Unavailability(LimiterSettings settings, FailureMode mode, Breaker breaker) {
        this.settings = settings;
        this.mode = mode;
        this.breaker = breaker;
        this.share = mode instanceof FailureMode.Local local
                ? RateLimiter.builder(local.policy())
                        .name(settings.name())
                        .scheduler(settings.scheduler())
                        .build()
                : null;
    }

    /** Gives out a share of the limit, if that is the mode. */
    @Nullable
    RateLimiter share() {
        return share;
    }

    Mono<Decision> decide(String key, RateLimitPolicy policy, long permits) {
        if (share != null) {
            return permits > share.policy().capacity()
                    ? Mono.fromSupplier(() -> denied(policy, permits, Degradation.LOCAL))
                    : share.tryAcquire(key, permits).map(decision -> counted(decision, Degradation.LOCAL));
        }
        return Mono.fromSupplier(() -> mode instanceof FailureMode.Open
                ? counted(
                        Decision.wouldAllow(policy, permits, nothingKnown(policy, policy.capacity())), Degradation.OPEN)
                : denied(policy, permits, Degradation.CLOSED));
    }

    Decision denied(RateLimitPolicy policy, long permits, Degradation degradation) {
        long retryAfter = breaker.pauseLeft(settings.scheduler().now(TimeUnit.NANOSECONDS));
        return counted(Decision.deny(policy, permits, nothingKnown(policy, 0), retryAfter), degradation);
    }

    private static Decision.Quota nothingKnown(RateLimitPolicy policy, long remaining) {
        return new Decision.Quota(policy.capacity(), remaining, Decision.Quota.UNKNOWN);
    }

    Decision counted(Decision decision, Degradation degradation) {
        settings.recorder().degraded(degradation);
        return decision.asDegraded();
    }
}
