package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.Decision.Degradation;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.PermitsExceedCapacityException;
import io.github.reactorratelimit.Policies;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** What a limiter answers while Redis does not; every such answer is marked and counted. */
final class Unavailability {

    private final LimiterSettings settings;
    private final FailureMode mode;
    private final Breaker breaker;
    private final @Nullable RateLimiter share;
    private final @Nullable LocalSpending spending;

    /** Whether the policy in effect has no permit for this process. */
    private volatile boolean shareIsEmpty;

    /**
     * @param spending what is charged when Redis is back; null if what the share gives out comes back by itself
     * @throws IllegalArgumentException if the policy has no share for each instance
     */
    Unavailability(LimiterSettings settings, FailureMode mode, Breaker breaker, @Nullable LocalSpending spending) {
        this.settings = settings;
        this.mode = mode;
        this.breaker = breaker;
        this.spending = spending;
        RateLimitPolicy policy = shareOf(settings.policy());
        this.share = policy == null
                ? null
                : RateLimiter.builder(policy)
                        .name(settings.name())
                        .scheduler(settings.scheduler())
                        .build();
    }

    /** What this process may give out of a policy; null if the mode is none with a share. */
    private @Nullable RateLimitPolicy shareOf(RateLimitPolicy policy) {
        if (mode instanceof FailureMode.Share equal) {
            return policy.share(equal.instances());
        }
        if (mode instanceof FailureMode.Local local) {
            return policy.equals(settings.policy()) ? local.policy() : Policies.all(local.policy(), policy);
        }
        return null;
    }

    /** Another policy is in effect: the share follows. What was given out counts under the new share. */
    void follow(RateLimitPolicy inEffect) {
        RateLimiter followed = share;
        if (followed != null) {
            change(followed, () -> followed.changePolicy(Objects.requireNonNull(shareOf(inEffect))))
                    .subscribe(hasPermits -> shareIsEmpty = !hasPermits);
        }
    }

    /** False if there is no such share: the policy has fewer permits than there are instances. A closed share gives out nothing anyway. */
    private static Mono<Boolean> change(RateLimiter followed, Supplier<Mono<Void>> change) {
        return Mono.defer(change).thenReturn(true).onErrorResume(refused -> Mono.just(followed.isDisposed()));
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
        return fromShare(
                policy,
                permits,
                open -> open.tryAcquire(key, permits).doOnNext(decision -> {
                    if (decision.allowed() && spending != null) {
                        spending.add(key, policy, permits);
                    }
                }));
    }

    /** What {@link #decide} would answer. */
    Mono<Decision> look(String key, RateLimitPolicy policy, long permits) {
        return fromShare(policy, permits, open -> open.peek(key, permits));
    }

    private Mono<Decision> fromShare(
            RateLimitPolicy policy, long permits, Function<RateLimiter, Mono<Decision>> request) {
        RateLimiter open = share;
        Mono<Decision> without = Mono.fromSupplier(() -> withoutShare(policy, permits));
        return open == null
                ? without
                : Mono.defer(() -> shareIsEmpty ? without : request.apply(open).map(this::local))
                        .onErrorResume(PermitsExceedCapacityException.class, tooMany -> without);
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
        long moreAfter = decision.moreAfter().map(Duration::toNanos).orElse(Decision.Quota.UNKNOWN);
        Decision.Quota quota = new Decision.Quota(decision.limit(), decision.remaining(), resetAfter, moreAfter);
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
        settings.recorder().counted(degradation.event(), decision.permits());
        return decision.asDegraded(degradation);
    }
}
