package io.github.reactorratelimit.webflux.boot;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.webflux.RateLimitRule;
import io.github.reactorratelimit.webflux.boot.LimitProperties.StoreKind;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * A limit that was made of properties.
 *
 * @param properties as they were when the application started
 * @param rule what the engine applies
 * @param soft decides who waits; null if nobody does because of a soft limit
 * @param overrides policies of keys that have their own; null if there were none at the start
 * @param figures counts its answers
 * @param store where it lives
 */
record ConfiguredLimit(
        LimitProperties properties,
        RateLimitRule rule,
        @Nullable RateLimiter soft,
        @Nullable KeyPolicies overrides,
        LimitFigures figures,
        StoreKind store) {

    String name() {
        return rule.name();
    }

    RateLimiter limiter() {
        return rule.limiter();
    }

    /** Whether none of these numbers can rule: permits in flight cannot be carried over to a limit by time, nor the other way round. */
    boolean isOfAnotherKind(LimitNumbers numbers) {
        return limiter().policy() instanceof ConcurrencyLimit != numbers.policy() instanceof ConcurrencyLimit;
    }

    /** Which of these numbers cannot rule from now on, and why; empty if all can. */
    List<String> obstacles(LimitNumbers numbers) {
        List<String> obstacles = new ArrayList<>();
        if ((numbers.soft() == null) != (soft == null)) {
            obstacles.add("soft-limit was added or removed");
        }
        if (overrides == null && !numbers.overrides().isEmpty()) {
            obstacles.add("overrides were added where there were none");
        }
        return obstacles;
    }

    /** Lets these numbers rule from now on; true if something changed. What was spent is kept. */
    Mono<Boolean> change(LimitNumbers numbers) {
        return Mono.defer(() -> {
            Mono<Boolean> hard = changed(limiter(), numbers.policy());
            Mono<Boolean> softer =
                    soft == null || numbers.soft() == null ? Mono.just(false) : changed(soft, numbers.soft());
            return hard.zipWith(softer, (one, other) -> {
                boolean others = overrides != null && overrides.replace(numbers.overrides());
                return others || one || other;
            });
        });
    }

    private static Mono<Boolean> changed(RateLimiter limiter, RateLimitPolicy policy) {
        return limiter.policy().equals(policy)
                ? Mono.just(false)
                : limiter.changePolicy(policy).thenReturn(true);
    }

    Mono<Void> close() {
        return soft == null ? limiter().close() : Mono.whenDelayError(limiter().close(), soft.close());
    }
}
