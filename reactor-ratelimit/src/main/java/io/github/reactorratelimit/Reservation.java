package io.github.reactorratelimit;

import reactor.core.publisher.Mono;

/**
 * Permits that were taken by an estimate, before the work began that spends them. When it ended, {@link #settle} corrects
 * that by what it really cost: what was too much is given back, what was too little is charged without asking, and may
 * overdraw the key. Then the key owes a debt: everybody who asks for it is denied until that is paid off by time.
 *
 * <pre>{@code
 * limiter.reserve("tenant", 500)
 *         .flatMap(reserved -> llm.complete(prompt)
 *                 .flatMap(answer -> reserved.settle(answer.tokens()).thenReturn(answer)));
 * }</pre>
 *
 * <p>A reservation is settled once; one that never is stays spent as estimated. Made by {@link RateLimiter#reserve}; safe for
 * any thread.
 */
public interface Reservation {

    /** The decision that granted the estimate. */
    Decision decision();

    /** The permits that were reserved. */
    default long estimate() {
        return decision().permits();
    }

    /**
     * Says, while the work goes on, how much it has spent so far. What is beyond the estimate, and beyond what was said before,
     * is charged now, once subscribed to; nothing is given back. Of no effect after {@link #settle}, and if it is less
     * than was said before. Completes also if it could not be charged, which is counted.
     *
     * @param soFar permits spent since the work began; what was said here is spent: settling by less counts as this
     * @throws IllegalArgumentException if it is negative
     */
    Mono<Void> accrue(long soFar);

    /**
     * Corrects the estimate by what was really spent, once subscribed to. The first subscription counts, whatever the others
     * say; they change nothing, and their {@link Settlement} tells so. Never fails because of the store: what it could not be
     * told is counted.
     *
     * @param actual permits that were really spent, perhaps 0
     * @throws IllegalArgumentException if it is negative
     */
    Mono<Settlement> settle(long actual);
}
