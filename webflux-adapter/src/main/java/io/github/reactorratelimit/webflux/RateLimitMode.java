package io.github.reactorratelimit.webflux;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.RateLimiter;
import java.time.Duration;
import java.util.Objects;

/** What happens to a request for which there is no permit at once. */
public sealed interface RateLimitMode {

    /** Denies it at once. */
    record Reject() implements RateLimitMode {}

    /**
     * Lets it wait for its turn, and denies it if that would take longer.
     *
     * @param maxWait the longest wait, above zero
     */
    record Delay(Duration maxWait) implements RateLimitMode {
        public Delay {
            requirePositive(maxWait);
        }
    }

    /**
     * Within the limit of the rule, slows down what is above a softer limit; denies what is above the limit of the rule, and what
     * would have to wait longer.
     *
     * @param soft the limiter whose turn is waited for, asked with the rule's key and cost
     * @param maxWait the longest wait, above zero
     */
    record DelayAbove(RateLimiter soft, Duration maxWait) implements RateLimitMode {
        public DelayAbove {
            if (Objects.requireNonNull(soft, "soft").policy().needsRelease()) {
                throw new IllegalArgumentException(
                        "soft must not be a ConcurrencyLimit; give it another rule, with a delay");
            }
            requirePositive(maxWait);
        }
    }

    /** Denies at once. */
    static RateLimitMode reject() {
        return new Reject();
    }

    /**
     * Waits at most {@code maxWait}.
     *
     * @throws IllegalArgumentException if it is not above zero
     */
    static RateLimitMode delay(Duration maxWait) {
        return new Delay(maxWait);
    }

    /**
     * Waits at most {@code maxWait} for a turn of {@code soft}; the limiter of the rule denies at once.
     *
     * @throws IllegalArgumentException if {@code maxWait} is not above zero, or {@code soft} is a {@link ConcurrencyLimit}
     */
    static RateLimitMode delayAbove(RateLimiter soft, Duration maxWait) {
        return new DelayAbove(soft, maxWait);
    }

    private static void requirePositive(Duration maxWait) {
        if (Objects.requireNonNull(maxWait, "maxWait").isZero() || maxWait.isNegative()) {
            throw new IllegalArgumentException("maxWait must be positive, was " + maxWait);
        }
    }
}
