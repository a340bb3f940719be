package io.github.reactorratelimit;

import reactor.core.publisher.Mono;

/**
 * Permits that were taken by an estimate before the work that spends them begins. When the work has ended,
 * {@link #settle} corrects the estimate by the real cost: too many permits are refunded, too few are charged
 * without a request and may overdraw the key. Then the key owes a debt, and its requests are denied until
 * time has paid it off.
 *
 * <pre>{@code
 * limiter.reserve("tenant", 500)
 *         .flatMap(reserved -> llm.complete(prompt)
 *                 .flatMap(answer -> reserved.settle(answer.tokens()).thenReturn(answer)));
 * }</pre>
 *
 * <p>A reservation is settled once; if it never is, the estimate stays spent. {@link RateLimiter#reserve}
 * makes it. Any thread may use it.
 */
public interface Reservation {

    /** The decision that granted the estimate. */
    Decision decision();

    /** The permits that were reserved. */
    default long estimate() {
        return decision().permits();
    }

    /**
     * Charges what the work has spent so far beyond the estimate and earlier calls, when subscribed to;
     * refunds nothing. It has no effect after {@link #settle}, or if {@code soFar} is less than before. It
     * also completes if the permits could not be charged, which is counted.
     *
     * @param soFar permits spent since the work began; these are spent: settling by less counts as this
     * @throws IllegalArgumentException if it is negative
     */
    Mono<Void> accrue(long soFar);

    /**
     * Corrects the estimate by what was really spent, when subscribed to. The first subscription counts; the
     * others change nothing, and their {@link Settlement} says so. It never fails because of the store:
     * permits that could not be charged or refunded are counted.
     *
     * @param actual permits that were really spent, perhaps 0
     * @throws IllegalArgumentException if it is negative
     */
    Mono<Settlement> settle(long actual);
}
