package io.github.reactorratelimit;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * Combines policies.
 *
 * <pre>{@code
 * Policies.all(TokenBucket.perSecond(10), FixedWindow.daily(10_000, zone))
 * }</pre>
 */
public final class Policies {

    private Policies() {}

    /**
     * Several policies on one key, allowed only if all allow. Composites among the arguments are flattened.
     */
    public static CompositePolicy all(RateLimitPolicy first, RateLimitPolicy second, RateLimitPolicy... more) {
        Objects.requireNonNull(more, "more");
        List<RateLimitPolicy> parts = new ArrayList<>();
        parts.addAll(Objects.requireNonNull(first, "first").parts());
        parts.addAll(Objects.requireNonNull(second, "second").parts());
        for (RateLimitPolicy policy : more) {
            parts.addAll(Objects.requireNonNull(policy, "more").parts());
        }
        return new CompositePolicy(parts);
    }
}
