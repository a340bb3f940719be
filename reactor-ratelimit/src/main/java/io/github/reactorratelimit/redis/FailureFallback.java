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
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * Decides while Redis is unavailable, as the {@link FailureMode} says. Each such decision is marked as
 * degraded and counted.
 */
final class FailureFallback {

    private final LimiterSettings settings;
    private final FailureMode mode;
    private final ToLongFunction<String> retryAfterNanos;
    private final @Nullable RateLimiter share;

    /** Whether the policy in effect has no permit for this process. */
    private volatile boolean shareIsEmpty;

    /**
     * @param retryAfterNanos how long a key's node will not be asked, see {@link LimiterCommands#pauseLeft}
     * @throws IllegalArgumentException if the policy has no share for each instance
     */
    FailureFallback(LimiterSettings settings, FailureMode mode, ToLongFunction<String> retryAfterNanos) {
        this.settings = settings;
        this.mode = mode;
        this.retryAfterNanos = retryAfterNanos;
        RateLimitPolicy policy = shareOf(settings.policy());
        this.share = policy == null
                ? null
                : RateLimiter.builder(policy)
                        .name(settings.name())
                        .scheduler(settings.scheduler())
                        .build();
    }

    /** What this process may give out of a policy; null if the mode has no share. */
    private @Nullable RateLimitPolicy shareOf(RateLimitPolicy policy) {
        if (mode instanceof FailureMode.Share equal) {
            return policy.share(equal.instances());
        }
        if (mode instanceof FailureMode.Local local) {
            return policy.equals(settings.policy()) ? local.policy() : Policies.all(local.policy(), policy);
        }
        return null;
    }

    /** Another policy is in effect: the share follows. Usage so far counts under the new share. */
    void follow(RateLimitPolicy inEffect) {
        RateLimiter followed = share;
        if (followed != null) {
            change(followed, () -> followed.changePolicy(Objects.requireNonNull(shareOf(inEffect))))
                    .subscribe(hasPermits -> shareIsEmpty = !hasPermits);
        }
    }

    /**
     * False if there is no such share: the policy has fewer permits than there are instances. A closed share
     * grants nothing anyway.
     */
    private static Mono<Boolean> change(RateLimiter followed, Supplier<Mono<Void>> change) {
        return Mono.defer(change).thenReturn(true).onErrorResume(refused -> Mono.just(followed.isDisposed()));
    }

    /** The share of the limit, if the mode has one. */
    @Nullable
    RateLimiter share() {
        return share;
    }

    /** A pause in Redis holds for the share too. A share that was closed grants nothing anyway. */
    void pauseShare(Function<RateLimiter, Mono<Void>> pause) {
        if (share != null) {
            pause.apply(share).subscribe(done -> {}, closed -> {});
        }
    }

    /** Acquires permits without Redis. {@code granted} runs if the share granted them. */
    Mono<Decision> decide(String key, RateLimitPolicy policy, long permits, Runnable granted) {
        return fromShare(
                key,
                policy,
                permits,
                open -> open.tryAcquire(key, permits).doOnNext(decision -> {
                    if (decision.allowed()) {
                        granted.run();
                    }
                }));
    }

    /** What {@link #decide} would answer. */
    Mono<Decision> peek(String key, RateLimitPolicy policy, long permits) {
        return fromShare(key, policy, permits, open -> open.peek(key, permits));
    }

    private Mono<Decision> fromShare(
            String key, RateLimitPolicy policy, long permits, Function<RateLimiter, Mono<Decision>> request) {
        RateLimiter open = share;
        Mono<Decision> without = Mono.fromSupplier(() -> withoutShare(key, policy, permits));
        return open == null
                ? without
                : Mono.defer(() -> shareIsEmpty ? without : request.apply(open).map(this::local))
                        .onErrorResume(PermitsExceedCapacityException.class, tooMany -> without);
    }

    private Decision withoutShare(String key, RateLimitPolicy policy, long permits) {
        if (mode instanceof FailureMode.Open) {
            long all = policy.capacity();
            return counted(
                    Decision.wouldAllow(policy, permits, all, Decision.UNKNOWN, Decision.UNKNOWN), Degradation.OPEN);
        }
        return deny(key, policy, permits, share == null ? Degradation.CLOSED : Degradation.LOCAL);
    }

    Decision deny(String key, RateLimitPolicy policy, long permits, Degradation degradation) {
        return counted(Decision.deny(policy, permits, retryAfterNanos.applyAsLong(key)), degradation);
    }

    /** Without its debit, which is none of the state in Redis: a refund of it gives nothing back. */
    private Decision local(Decision decision) {
        if (!decision.allowed()) {
            return counted(decision, Degradation.LOCAL);
        }
        long resetAfter = decision.resetAfter().map(Duration::toNanos).orElse(Decision.UNKNOWN);
        long moreAfter = decision.moreAfter().map(Duration::toNanos).orElse(Decision.UNKNOWN);
        return counted(
                Decision.wouldAllow(decision.policy(), decision.permits(), decision.remaining(), resetAfter, moreAfter),
                Degradation.LOCAL);
    }

    Decision counted(Decision decision, Degradation degradation) {
        settings.recorder().counted(degradation.event(), decision.permits());
        return decision.asDegraded(degradation);
    }

    /** The share ends with its limiter. */
    Mono<Void> close() {
        return share == null ? Mono.empty() : share.close();
    }
}
