package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimitRecorder.Degradation;
import io.github.reactorratelimit.RateLimiter;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** What a limiter answers while Redis does not; every such answer is marked and counted. */
final class Unavailability {

    private final LimiterSettings settings;
    private final FailureMode mode;
    private final Breaker breaker;
    private final @Nullable RateLimiter share;
    private final @Nullable LocalSpending spending;

    /** @param spending what is charged when Redis is back; null if what the share gives out comes back by itself */
    Unavailability(LimiterSettings settings, FailureMode mode, Breaker breaker, @Nullable LocalSpending spending) {
        this.settings = settings;
        this.mode = mode;
        this.breaker = breaker;
        this.spending = spending;
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

    /** What is paused in Redis is in this process too, for when Redis is away; a share that was closed gives out nothing anyway. */
    void pauseShare(Function<RateLimiter, Mono<Void>> pause) {
        if (share != null) {
            pause.apply(share).subscribe(done -> {}, closed -> {});
        }
    }

    /** Takes what can be had without Redis. */
    Mono<Decision> decide(String key, RateLimitPolicy policy, long permits) {
        return share == null || permits > share.policy().capacity()
                ? Mono.fromSupplier(() -> withoutShare(policy, permits))
                : share.tryAcquire(key, permits).map(decision -> {
                    if (decision.allowed() && spending != null) {
                        spending.add(key, policy, permits);
                    }
                    return local(decision);
                });
    }

    /** What {@link #decide} would answer. */
    Mono<Decision> look(String key, RateLimitPolicy policy, long permits) {
        return share == null || permits > share.policy().capacity()
                ? Mono.fromSupplier(() -> withoutShare(policy, permits))
                : share.peek(key, permits).map(this::local);
    }

    private Decision withoutShare(RateLimitPolicy policy, long permits) {
        if (mode instanceof FailureMode.Open) {
            Decision.Quota all = nothingKnown(policy, policy.capacity());
            return counted(Decision.wouldAllow(policy, permits, all), Degradation.OPEN);
        }
        return denied(policy, permits, share == null ? Degradation.CLOSED : Degradation.LOCAL);
    }

    Decision denied(RateLimitPolicy policy, long permits, Degradation degradation) {
        long retryAfter = breaker.pauseLeft(settings.scheduler().now(TimeUnit.NANOSECONDS));
        return counted(Decision.deny(policy, permits, nothingKnown(policy, 0), retryAfter), degradation);
    }

    /** Without its debit, which is no debit of the state in Redis: what is refunded of it stays spent. */
    private Decision local(Decision decision) {
        if (!decision.allowed()) {
            return counted(decision, Degradation.LOCAL);
        }
        long resetAfter = decision.resetAfter().map(Duration::toNanos).orElse(Decision.Quota.UNKNOWN);
        Decision.Quota quota = new Decision.Quota(decision.limit(), decision.remaining(), resetAfter);
        return counted(Decision.wouldAllow(decision.policy(), decision.permits(), quota), Degradation.LOCAL);
    }

    /** Redis answers: what was given out here is charged to it. */
    void redisAnswered() {
        if (share != null && spending != null) {
            spending.charge();
        }
    }

    /** The local share ends with its limiter. */
    Mono<Void> close() {
        return share == null ? Mono.empty() : share.close();
    }

    private static Decision.Quota nothingKnown(RateLimitPolicy policy, long remaining) {
        return new Decision.Quota(policy.capacity(), remaining, Decision.Quota.UNKNOWN);
    }

    Decision counted(Decision decision, Degradation degradation) {
        settings.recorder().degraded(degradation);
        return decision.asDegraded(degradation);
    }
}
