package io.github.reactorratelimit;

import java.util.Comparator;
import java.util.List;

/**
 * The answer to {@link RateLimiter#acquireAll}: allowed only if every limiter allowed.
 *
 * @param decisions one for each limiter that was asked, in the order given; the last one is the denial
 *     if there is one, and what was debited before it has been given back
 */
public record JointDecision(List<Decision> decisions) {

    public JointDecision {
        decisions = List.copyOf(decisions);
        if (decisions.isEmpty()) {
            throw new IllegalArgumentException("decisions must not be empty");
        }
    }

    /** Whether every limiter allowed. */
    public boolean allowed() {
        return decisions.stream().allMatch(Decision::allowed);
    }

    /** The decision that binds: the denial, or else the one with least remaining. */
    public Decision binding() {
        return decisions.stream()
                .min(Comparator.comparing(Decision::allowed).thenComparingLong(Decision::remaining))
                .orElseThrow();
    }
}
