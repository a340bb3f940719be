package io.github.reactorratelimit.webflux;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.Lease;
import io.github.reactorratelimit.RateLimiter;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * What a request got from one limiter.
 *
 * @param limiter who gave it: that of the rule, or its softer one
 * @param lease null unless it comes back when the request ends
 */
record Grant(
        RateLimitRule rule,
        RateLimiter limiter,
        Decision decision,
        @Nullable Lease lease) {

    /** Gives it back; never fails: what could not be given back the limiter has counted, and it stays spent. */
    Mono<Void> giveBack() {
        return Mono.defer(() -> lease == null ? limiter.refund(decision) : lease.release())
                .onErrorComplete();
    }

    /** Whether clients are told about it: of two limiters of a rule, only about the one that would deny. */
    boolean isReported() {
        return limiter == rule.limiter();
    }
}
