package io.github.reactorratelimit.webflux.boot;

import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.webflux.RateLimitRule;
import io.github.reactorratelimit.webflux.boot.LimitProperties.StoreKind;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * A limit that was made of properties.
 *
 * @param properties as they were when the application started
 * @param rule what the engine applies
 * @param hard decides
 * @param soft decides who waits; null if nobody does because of a soft limit
 * @param overrides policies of keys that have their own; null if there were none at the start
 * @param statistics counts its decisions
 * @param store where it lives
 * @param configured the numbers that the configuration had when it was last read; others may rule, because somebody changed them
 */
record ConfiguredLimit(
        LimitProperties properties,
        RateLimitRule rule,
        ReopenableLimiter hard,
        @Nullable ReopenableLimiter soft,
        @Nullable KeyPolicies overrides,
        LimitStatistics statistics,
        StoreKind store,
        AtomicReference<LimitSettings> configured) {

    /** Of nobody. A limiter that was asked for a key knows which policy rules. */
    private static final String ANY_KEY = "-";

    String name() {
        return rule.name();
    }

    RateLimiter limiter() {
        return hard.current();
    }

    /** Whether none of these numbers can rule: permits in flight cannot be carried over to a limit by time, nor the other way round. */
    boolean isOfAnotherKind(LimitSettings numbers) {
        return limiter().policy().needsRelease() != numbers.policy().needsRelease();
    }

    /** Why no request could ever pass if these numbers ruled; null if some can. What a request costs stays as it was at the start. */
    @Nullable
    String obstacleToRequests(LimitSettings numbers) {
        return numbers.obstacleTo(properties.costOfEach(), overrides != null);
    }

    /** Which of these numbers cannot rule from now on, and why; empty if all can. */
    List<String> obstacles(LimitSettings numbers) {
        List<String> obstacles = new ArrayList<>();
        if ((numbers.soft() == null) != (soft == null)) {
            obstacles.add("soft-limit was added or removed");
        }
        if (overrides == null && !numbers.overrides().isEmpty()) {
            obstacles.add("overrides were added where there were none");
        }
        return obstacles;
    }

    /**
     * Lets those of these numbers rule from now on that differ from the ones configured before; true if something changed. What was
     * spent is kept, and what somebody changed meanwhile too where the configuration is as it was.
     */
    Mono<Boolean> change(LimitSettings numbers) {
        return Mono.defer(() -> {
            LimitSettings before = lastConfigured();
            Mono<Boolean> hard = changed(limiter(), before.policy(), numbers.policy());
            Mono<Boolean> softer = soft == null || numbers.soft() == null
                    ? Mono.just(false)
                    : changed(soft.current(), before.soft(), numbers.soft());
            return hard.zipWith(softer, (one, other) -> {
                boolean others = overrides != null && overrides.replace(numbers.overrides());
                configured.set(numbers);
                return others || one || other;
            });
        });
    }

    private static Mono<Boolean> changed(
            RateLimiter limiter, @Nullable RateLimitPolicy before, RateLimitPolicy policy) {
        return policy.equals(before)
                ? Mono.just(false)
                : limiter.changePolicy(policy).thenReturn(true);
    }

    LimitSettings lastConfigured() {
        return Objects.requireNonNull(configured.get());
    }

    /** Whether what rules here may be what another instance says. */
    boolean followsOthers() {
        return store == StoreKind.REDIS && !limiter().policy().needsRelease();
    }

    /** Which policy rules instead of the configured one, as soon as that is known; empty if that one does, or nobody can tell. */
    Mono<RateLimitPolicy> overridingPolicy() {
        return Mono.defer(() -> limiter().peek(ANY_KEY))
                .onErrorComplete()
                .then(Mono.fromSupplier(limiter()::policy))
                .filter(ruling -> !ruling.equals(lastConfigured().policy()));
    }

    Mono<Void> close() {
        return soft == null ? hard.close() : Mono.whenDelayError(hard.close(), soft.close());
    }

    void reopen() {
        hard.reopen();
        if (soft != null) {
            soft.reopen();
        }
    }
}
