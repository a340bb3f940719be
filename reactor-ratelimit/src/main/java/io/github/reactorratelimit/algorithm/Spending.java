package io.github.reactorratelimit.algorithm;

import io.github.reactorratelimit.RateLimitPolicy;
import java.util.List;

/**
 * What a key spent under a policy and has not recovered.
 *
 * @param policy a policy that is no composite
 * @param permits whole permits, rounded up
 */
public record Spending(RateLimitPolicy policy, long permits) {

    /**
     * What of that a key begins with under {@code heir}: what was spent under a policy of the same kind and period; where
     * there is none, the most that was spent under any, so that nothing is forgotten.
     */
    public static long under(RateLimitPolicy heir, List<Spending> spent) {
        List<Spending> alike =
                spent.stream().filter(each -> isAlike(each.policy, heir)).toList();
        return (alike.isEmpty() ? spent : alike)
                .stream().mapToLong(Spending::permits).max().orElse(0);
    }

    private static boolean isAlike(RateLimitPolicy before, RateLimitPolicy heir) {
        return before.getClass() == heir.getClass() && before.period().equals(heir.period());
    }
}
