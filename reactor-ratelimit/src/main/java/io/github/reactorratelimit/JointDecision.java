package io.github.reactorratelimit;

import java.util.Comparator;
import java.util.List;

/**
 * The decision of {@link RateLimiter#acquireAll}: allowed only if every limiter allowed.
 *
 * @param decisions one for each limiter, in the given order, up to the first denial; permits before a denial
 *     have been refunded
 */
public record JointDecision(List<Decision> decisions) {

    public JointDecision {
        decisions = List.copyOf(decisions);
        Checks.require(!decisions.isEmpty(), "decisions must not be empty");
    }

    /** Whether every limiter allowed: only the last decision can be a denial. */
    public boolean allowed() {
        return decisions.get(decisions.size() - 1).allowed();
    }

    /** The decision that binds: the denial, or else the one with least remaining. */
    public Decision binding() {
        return decisions.stream()
                .min(Comparator.comparing(Decision::allowed).thenComparingLong(Decision::remaining))
                .orElseThrow();
    }
}
