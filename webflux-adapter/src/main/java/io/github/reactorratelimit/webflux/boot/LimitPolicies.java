package io.github.reactorratelimit.webflux.boot;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.SlidingWindowCounter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.WarmUp;
import io.github.reactorratelimit.webflux.boot.LimitProperties.Algorithm;
import java.time.Duration;
import java.time.Period;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The policies that the properties of a limit describe.
 *
 * @param at the name of the limit's properties
 */
record LimitPolicies(LimitProperties limit, String at) {

    private static final String LIMIT_NEEDED = "is needed, such as '100 per minute'";

    /** The policy of the limit. */
    RateLimitPolicy policy() {
        return policy(PropertyChecks.required(limit.limit(), at + ".limit", LIMIT_NEEDED), limit.burst());
    }

    /** The policy of the limit with another rate. */
    RateLimitPolicy policy(Rate rate, @Nullable Long burst) {
        only(limit.queue(), "queue", Algorithm.LEAKY_BUCKET);
        only(limit.warmUp(), "warm-up", Algorithm.TOKEN_BUCKET);
        only(limit.zone(), "zone", Algorithm.FIXED_WINDOW);
        positive(limit.queue(), at + ".queue");
        return policy(rate, burst, "limit", at);
    }

    private void only(@Nullable Object value, String property, Algorithm algorithm) {
        PropertyChecks.check(
                value == null || limit.algorithm() == algorithm,
                at + "." + property,
                "is only for algorithm "
                        + algorithm.name().toLowerCase(Locale.ROOT).replace('_', '-'));
    }

    private static void positive(@Nullable Long permits, String property) {
        PropertyChecks.check(permits == null || permits > 0, property, "must be at least 1");
    }

    /** The policy of a soft limit or a shadow, which counts as the limit does; null if there is none. */
    @Nullable
    RateLimitPolicy beside(@Nullable Rate rate, String property) {
        if (rate == null) {
            return null;
        }
        PropertyChecks.check(
                limit.algorithm() != Algorithm.CONCURRENCY,
                at + "." + property,
                "is not for algorithm concurrency: add another limit, with a max-wait");
        return policy(rate, null, property, at);
    }

    /** The policy of a key that has its own. */
    RateLimitPolicy override(LimitProperties.KeyOverride override, String here) {
        PropertyChecks.check(
                limit.algorithm() != Algorithm.CONCURRENCY, here, "there are none for algorithm concurrency");
        Rate rate = PropertyChecks.required(override.limit(), here + ".limit", LIMIT_NEEDED);
        return policy(rate, override.burst(), "limit", here);
    }

    private RateLimitPolicy policy(Rate rate, @Nullable Long burst, String property, String here) {
        boolean bursts = limit.warmUp() == null
                && (limit.algorithm() == Algorithm.TOKEN_BUCKET || limit.algorithm() == Algorithm.GCRA);
        PropertyChecks.check(
                burst == null || bursts,
                here + ".burst",
                "is only for algorithm token-bucket and gcra, without warm-up");
        positive(burst, here + ".burst");
        return PropertyChecks.of(here + "." + property, () -> policy(rate, burst == null ? rate.permits() : burst));
    }

    private RateLimitPolicy policy(Rate rate, long burst) {
        long permits = rate.permits();
        if (limit.algorithm() == Algorithm.CONCURRENCY) {
            require(
                    rate.period() == null,
                    "of algorithm concurrency is a number alone, such as 20: so many requests at one time");
            return ConcurrencyLimit.of(permits);
        }
        require(rate.period() != null, "needs a time, such as '" + permits + " per minute'");
        ZoneId zone = limit.zone();
        if (limit.algorithm() == Algorithm.FIXED_WINDOW && rate.period() instanceof Period) {
            return FixedWindow.monthly(permits, zone == null ? ZoneOffset.UTC : zone);
        }
        if (!(rate.period() instanceof Duration period)) {
            throw new IllegalArgumentException("per month needs algorithm fixed-window");
        }
        require(
                zone == null || period.equals(Duration.ofDays(1)),
                "must be per day or per month: a zone is for calendar windows");
        return switch (limit.algorithm()) {
            case TOKEN_BUCKET ->
                limit.warmUp() == null
                        ? new TokenBucket(burst, permits, period)
                        : WarmUp.of(permits, period, limit.warmUp());
            case GCRA -> new Gcra(permits, period, burst);
            case LEAKY_BUCKET ->
                new LeakyBucket(
                        permits, period, limit.queue() == null ? LeakyBucket.DEFAULT_QUEUE_CAPACITY : limit.queue());
            case FIXED_WINDOW -> zone == null ? FixedWindow.of(permits, period) : FixedWindow.daily(permits, zone);
            case SLIDING_LOG -> SlidingWindowLog.of(permits, period);
            case SLIDING_COUNTER -> SlidingWindowCounter.of(permits, period);
            case CONCURRENCY -> throw new AssertionError("made above");
        };
    }

    private static void require(boolean condition, String otherwise) {
        if (!condition) {
            throw new IllegalArgumentException(otherwise);
        }
    }
}
