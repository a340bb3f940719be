package io.github.reactorratelimit.webflux.boot;

import com.fasterxml.jackson.annotation.JsonInclude;
import io.github.reactorratelimit.hotkeys.HotKey;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A limit as the endpoint shows it. Never a key, which may be a secret.
 *
 * @param name its name
 * @param policy the policy in effect
 * @param paths its path patterns; empty for every path
 * @param key what it counts by, as the configuration says it; null for a rule bean of the application
 * @param store where it lives; null if its limiter was not made by {@link RateLimits}
 * @param statistics its decisions since the application started; null if its limiter was not made by {@link RateLimits}
 * @param hotKeys its hot keys; null if its limiter was not made by {@link RateLimits}
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record LimitDescription(
        String name,
        String policy,
        List<String> paths,
        @Nullable String key,
        @Nullable String store,
        @Nullable Statistics statistics,
        @Nullable HotKeySummary hotKeys) {

    /**
     * Answers since the application started, of this instance.
     *
     * @param allowed requests that were allowed
     * @param denied requests that were denied
     * @param permitsTaken permits of those that were allowed; what was given back counts as taken
     */
    public record Statistics(long allowed, long denied, long permitsTaken) {}

    /**
     * Hashes of keys, with how many permits at least and at most were theirs.
     *
     * @param mostUsed those that took most permits
     * @param mostDenied those that were denied most
     */
    public record HotKeySummary(List<HotKey> mostUsed, List<HotKey> mostDenied) {}

    /**
     * All limits.
     *
     * @param limits in the order in which they are asked
     */
    public record All(List<LimitDescription> limits) {}
}
