package io.github.reactorratelimit.webflux;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.Lease;
import io.github.reactorratelimit.RateLimiter;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * Permits that one limiter granted to a request.
 *
 * @param limiter the limiter of the rule, or its softer one
 * @param lease null unless the permits are held until the request ends
 */
record Grant(
        RateLimitRule rule,
        RateLimiter limiter,
        Decision decision,
        @Nullable Lease lease) {

    /** Refunds or releases; never fails. If it cannot, the permits stay spent and the limiter counts the loss. */
    Mono<Void> giveBack() {
        return Mono.defer(() -> lease == null ? limiter.refund(decision) : lease.release())
                .onErrorComplete();
    }

    /** Whether clients see it: of a rule with two limiters, only the one that denies is reported. */
    boolean isReported() {
        return limiter == rule.limiter();
    }
}
