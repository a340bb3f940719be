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
import io.github.reactorratelimit.webflux.boot.LimitProperties.KeyOverride;
import java.time.Duration;
import java.time.Period;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The policies that the properties of a limit describe. All but the shadow can change while the application runs.
 *
 * @param source the properties of the limit
 * @param policy the policy of keys without an override
 * @param soft the policy above which requests wait; null if there is none
 * @param shadow the policy that only counts; null if there is none
 * @param overrides policies by key
 */
record LimitSettings(
        LimitProperties source,
        RateLimitPolicy policy,
        @Nullable RateLimitPolicy soft,
        @Nullable RateLimitPolicy shadow,
        Map<String, RateLimitPolicy> overrides) {

    private static final String LIMIT_NEEDED = "is needed, such as '100 per minute'";

    /**
     * The settings of a limit.
     *
     * @param at the name of the limit's properties
     */
    static LimitSettings of(LimitProperties limit, LimitKey.Maker keys, String at) {
        only(limit.queue(), Algorithm.LEAKY_BUCKET, limit, at + ".queue");
        only(limit.warmUp(), Algorithm.TOKEN_BUCKET, limit, at + ".warm-up");
        only(limit.zone(), Algorithm.FIXED_WINDOW, limit, at + ".zone");
        positive(limit.queue(), at + ".queue");
        Rate rate = PropertyChecks.required(limit.limit(), at + ".limit", LIMIT_NEEDED);
        LimitSettings settings = new LimitSettings(
                limit,
                policy(limit, rate, limit.burst(), "limit", at),
                beside(limit, limit.softLimit(), "soft-limit", at),
                beside(limit, limit.shadow(), "shadow", at),
                overrides(limit, keys, at + ".overrides"));
        settings.checkSoft(at);
        String obstacle = settings.obstacleTo(limit.costOfEach(), true);
        PropertyChecks.check(obstacle == null, at + ".cost", "is too much: " + obstacle);
        return settings;
    }

    /** The same settings with another limit, as an operator requests it. */
    LimitSettings withLimit(Rate limit, @Nullable Long burst, String at) {
        return new LimitSettings(source, policy(source, limit, burst, "limit", at), soft, shadow, overrides);
    }

    /**
     * Why no request that costs as much could ever pass; null if some can.
     *
     * @param withOverrides whether overrides apply too
     */
    @Nullable
    String obstacleTo(long cost, boolean withOverrides) {
        boolean payable = policy.capacity() >= cost
                || (withOverrides && overrides.values().stream().anyMatch(own -> own.capacity() >= cost));
        if (!payable) {
            return neverGives("limit", policy, cost);
        }
        return soft == null || soft.capacity() >= cost ? null : neverGives("soft-limit", soft, cost);
    }

    private static String neverGives(String what, RateLimitPolicy policy, long cost) {
        return "its " + what + " never gives more than " + policy.capacity() + " permits at once, and a request costs "
                + cost + " permits";
    }

    private void checkSoft(String at) {
        PropertyChecks.check(
                soft == null || !overrides.isEmpty() || !isAbove(soft, policy),
                at + ".soft-limit",
                "is above the limit, and no key has a higher one: no request would ever wait");
    }

    /** Whether a policy never gives less than another one, and sometimes more. */
    private static boolean isAbove(RateLimitPolicy one, RateLimitPolicy other) {
        Duration time = one.timeFor(one.capacity()).orElseThrow();
        int slower = time.compareTo(other.timeFor(one.capacity()).orElseThrow());
        return one.capacity() >= other.capacity() && slower <= 0 && (one.capacity() > other.capacity() || slower < 0);
    }

    private static Map<String, RateLimitPolicy> overrides(LimitProperties limit, LimitKey.Maker keys, String at) {
        Map<String, RateLimitPolicy> policies = new LinkedHashMap<>();
        List<KeyOverride> overrides = PropertyChecks.orNone(limit.overrides());
        for (int i = 0; i < overrides.size(); i++) {
            KeyOverride override = overrides.get(i);
            String here = at + "[" + i + "]";
            String name = PropertyChecks.required(override.key(), here + ".key", "is needed: whose limit it is");
            String key = PropertyChecks.of(
                    here + ".key", () -> LimitKey.named(PropertyChecks.orNone(limit.key()), keys, name));
            PropertyChecks.check(
                    limit.algorithm() != Algorithm.CONCURRENCY, here, "there are none for algorithm concurrency");
            Rate rate = PropertyChecks.required(override.limit(), here + ".limit", LIMIT_NEEDED);
            RateLimitPolicy policy = policy(limit, rate, override.burst(), "limit", here);
            PropertyChecks.check(policies.put(key, policy) == null, here + ".key", "has an override already");
        }
        return Map.copyOf(policies);
    }

    private static void only(@Nullable Object value, Algorithm algorithm, LimitProperties limit, String property) {
        PropertyChecks.check(
                value == null || limit.algorithm() == algorithm,
                property,
                "is only for algorithm " + PropertyChecks.written(algorithm));
    }

    private static void positive(@Nullable Long permits, String property) {
        PropertyChecks.check(permits == null || permits > 0, property, "must be at least 1");
    }

    /** The policy of a soft limit or a shadow, which counts as the limit does. */
    private static @Nullable RateLimitPolicy beside(
            LimitProperties limit, @Nullable Rate rate, String property, String at) {
        PropertyChecks.check(
                rate == null || limit.algorithm() != Algorithm.CONCURRENCY,
                at + "." + property,
                "is not for algorithm concurrency: add another limit, with a max-wait");
        return rate == null ? null : policy(limit, rate, null, property, at);
    }

    private static RateLimitPolicy policy(
            LimitProperties limit, Rate rate, @Nullable Long burst, String property, String at) {
        boolean bursts = limit.warmUp() == null
                && (limit.algorithm() == Algorithm.TOKEN_BUCKET || limit.algorithm() == Algorithm.GCRA);
        PropertyChecks.check(
                burst == null || bursts, at + ".burst", "is only for algorithm token-bucket and gcra, without warm-up");
        positive(burst, at + ".burst");
        return PropertyChecks.of(
                at + "." + property, () -> policy(limit, rate, burst == null ? rate.permits() : burst));
    }

    private static RateLimitPolicy policy(LimitProperties limit, Rate rate, long burst) {
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
