package io.github.reactorratelimit.fairness;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.Lease;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.Reservation;
import java.time.Duration;
import reactor.core.publisher.Mono;

/** In which form permits are wanted. */
enum Kind {
    /** For good: a {@link Decision}. */
    SPENT {
        @Override
        Mono<?> ask(RateLimiter limiter, String key, long permits, Duration maxWait) {
            return limiter.acquire(key, permits, maxWait);
        }

        @Override
        Mono<?> giveBack(RateLimiter limiter, Object granted) {
            return limiter.refund((Decision) granted);
        }
    },

    /** Until they are released: a {@link Lease}. */
    LEASED {
        @Override
        Mono<?> ask(RateLimiter limiter, String key, long permits, Duration maxWait) {
            return limiter.acquireLease(key, permits, maxWait);
        }

        @Override
        Mono<?> giveBack(RateLimiter limiter, Object granted) {
            return ((Lease) granted).release();
        }
    },

    /** By estimate: a {@link Reservation}. */
    RESERVED {
        @Override
        Mono<?> ask(RateLimiter limiter, String key, long permits, Duration maxWait) {
            return limiter.reserve(key, permits, maxWait);
        }

        @Override
        Mono<?> giveBack(RateLimiter limiter, Object granted) {
            return ((Reservation) granted).settle(0);
        }
    };

    /** Yields what the permits are had as; a denial is a denied {@link Decision}, or an error that carries it. */
    abstract Mono<?> ask(RateLimiter limiter, String key, long permits, Duration maxWait);

    /** For what was granted and found nobody. */
    abstract Mono<?> giveBack(RateLimiter limiter, Object granted);
}
