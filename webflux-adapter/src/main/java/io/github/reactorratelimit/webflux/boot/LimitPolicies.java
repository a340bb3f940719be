package io.github.reactorratelimit.webflux.boot;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.SlidingWindowCounter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.webflux.boot.LimitProperties.Algorithm;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** The policies that the properties of a limit describe. */
final class LimitPolicies {

    private static final String LIMIT_NEEDED = "is needed, such as '100 per minute'";

    private LimitPolicies() {}

    /**
     * The policy of a limit.
     *
     * @param at the name of the limit's properties
     */
    static RateLimitPolicy of(LimitProperties limit, String at) {
        Algorithm algorithm = limit.algorithm();
        Rate rate = Properties.required(limit.limit(), at + ".limit", LIMIT_NEEDED);
        burst(algorithm, limit.burst(), at);
        Properties.check(
                limit.queue() == null || algorithm == Algorithm.LEAKY_BUCKET,
                at + ".queue",
                "is only for algorithm leaky-bucket");
        positive(limit.queue(), at + ".queue");
        return Properties.of(at + ".limit", () -> policy(algorithm, rate, limit.burst(), limit.queue(), at));
    }

    private static void burst(Algorithm algorithm, @Nullable Long burst, String at) {
        boolean bursts = algorithm == Algorithm.TOKEN_BUCKET || algorithm == Algorithm.GCRA;
        Properties.check(burst == null || bursts, at + ".burst", "is only for algorithm token-bucket and gcra");
        positive(burst, at + ".burst");
    }

    private static void positive(@Nullable Long permits, String property) {
        Properties.check(permits == null || permits > 0, property, "must be at least 1");
    }

    /** The policy of the soft limit, which counts as the limit does. */
    static RateLimitPolicy soft(LimitProperties limit, Rate rate, String at) {
        Properties.check(
                limit.algorithm() != Algorithm.CONCURRENCY,
                at + ".soft-limit",
                "is not for algorithm concurrency: give it a limit of its own, with a max-wait");
        return Properties.of(at + ".soft-limit", () -> policy(limit.algorithm(), rate, null, limit.queue(), at));
    }

    /** The policy of a key that has its own. */
    static RateLimitPolicy of(LimitProperties limit, LimitProperties.KeyOverride override, String at) {
        Properties.check(limit.algorithm() != Algorithm.CONCURRENCY, at, "there are none for algorithm concurrency");
        Rate rate = Properties.required(override.limit(), at + ".limit", LIMIT_NEEDED);
        burst(limit.algorithm(), override.burst(), at);
        return Properties.of(at + ".limit", () -> policy(limit.algorithm(), rate, override.burst(), limit.queue(), at));
    }

    private static RateLimitPolicy policy(
            Algorithm algorithm, Rate rate, @Nullable Long burst, @Nullable Long queue, String at) {
        if (algorithm == Algorithm.CONCURRENCY) {
            Properties.check(
                    rate.period() == null,
                    at + ".limit",
                    "of algorithm concurrency is a number alone, such as 20: so many requests at one time");
            return ConcurrencyLimit.of(rate.permits());
        }
        Duration period = Properties.required(
                rate.period(), at + ".limit", "needs a time, such as '" + rate.permits() + " per minute'");
        long permits = rate.permits();
        return switch (algorithm) {
            case TOKEN_BUCKET -> new TokenBucket(burst == null ? permits : burst, permits, period);
            case GCRA -> new Gcra(permits, period, burst == null ? permits : burst);
            case LEAKY_BUCKET ->
                new LeakyBucket(permits, period, queue == null ? LeakyBucket.DEFAULT_QUEUE_CAPACITY : queue);
            case FIXED_WINDOW -> FixedWindow.of(permits, period);
            case SLIDING_LOG -> SlidingWindowLog.of(permits, period);
            case SLIDING_COUNTER -> SlidingWindowCounter.of(permits, period);
            case CONCURRENCY -> throw new AssertionError("made above");
        };
    }
}
