package io.github.reactorratelimit.algorithm;

import io.github.reactorratelimit.RateLimitPolicy;
import java.util.List;

/**
 * The permits that a key spent under a policy and that have not come back.
 *
 * @param policy a policy that is no composite
 * @param permits whole permits, rounded up
 */
public record Spending(RateLimitPolicy policy, long permits) {

    /**
     * The permits with which a key starts under {@code successor}: those spent under a policy of the same
     * kind and period, or else the most that were spent under any.
     */
    public static long under(RateLimitPolicy successor, List<Spending> spent) {
        List<Spending> alike =
                spent.stream().filter(each -> isAlike(each.policy, successor)).toList();
        return (alike.isEmpty() ? spent : alike)
                .stream().mapToLong(Spending::permits).max().orElse(0);
    }

    private static boolean isAlike(RateLimitPolicy before, RateLimitPolicy successor) {
        return before.getClass() == successor.getClass() && before.period().equals(successor.period());
    }
}
