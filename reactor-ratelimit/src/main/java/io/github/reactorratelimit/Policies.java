package io.github.reactorratelimit;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/** Combines policies. */
public final class Policies {

    private Policies() {}

    /**
     * Several policies on one key, allowed only if all allow: {@code all(TokenBucket.perSecond(10),
     * FixedWindow.daily(10_000, zone))}. Composites among the arguments are flattened.
     */
    public static CompositePolicy all(RateLimitPolicy first, RateLimitPolicy second, RateLimitPolicy... more) {
        Objects.requireNonNull(more, "more");
        List<RateLimitPolicy> parts = new ArrayList<>();
        add(parts, Objects.requireNonNull(first, "first"));
        add(parts, Objects.requireNonNull(second, "second"));
        for (RateLimitPolicy policy : more) {
            add(parts, Objects.requireNonNull(policy, "more"));
        }
        return new CompositePolicy(parts);
    }

    private static void add(List<RateLimitPolicy> parts, RateLimitPolicy policy) {
        if (policy instanceof CompositePolicy composite) {
            parts.addAll(composite.parts());
        } else {
            parts.add(policy);
        }
    }
}
