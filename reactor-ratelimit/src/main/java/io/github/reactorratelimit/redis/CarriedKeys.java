package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.RateLimitPolicy;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Keys that got another policy while this process used them. What was debited before cannot be given back to them: the
 * step of the old policy would read the state of the new one.
 */
final class CarriedKeys {

    private static final int MAX_KEYS = 10_000;

    private final Map<String, RateLimitPolicy> policies = new ConcurrentHashMap<>();

    void put(String key, RateLimitPolicy policy) {
        if (policies.size() < MAX_KEYS || policies.containsKey(key)) {
            policies.put(key, policy);
        }
    }

    boolean isElsewhere(Debit debit) {
        RateLimitPolicy now = policies.isEmpty() ? null : policies.get(debit.key());
        return now != null && !now.equals(debit.policy());
    }
}
