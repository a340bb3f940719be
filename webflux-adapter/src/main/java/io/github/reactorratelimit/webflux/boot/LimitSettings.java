package io.github.reactorratelimit.webflux.boot;

import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.webflux.boot.LimitProperties.KeyOverride;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The part of a limit that can change while the application runs.
 *
 * @param source the properties of the limit
 * @param policy the policy of keys without an override
 * @param soft the policy above which requests wait; null if there is none
 * @param overrides policies by key
 */
record LimitSettings(
        LimitProperties source,
        RateLimitPolicy policy,
        @Nullable RateLimitPolicy soft,
        Map<String, RateLimitPolicy> overrides) {

    /**
     * The settings of a limit.
     *
     * @param at the name of the limit's properties
     */
    static LimitSettings of(LimitProperties limit, LimitKeys keys, String at) {
        LimitPolicies policies = new LimitPolicies(limit, at);
        LimitSettings settings = new LimitSettings(
                limit,
                policies.policy(),
                policies.beside(limit.softLimit(), "soft-limit"),
                overrides(policies, keys, at + ".overrides"));
        settings.checkSoft(at);
        String obstacle = settings.obstacleTo(limit.costOfEach(), true);
        PropertyChecks.check(obstacle == null, at + ".cost", "is too much: " + obstacle);
        return settings;
    }

    /** The same settings with another limit, as an operator requests it. */
    LimitSettings withLimit(Rate limit, @Nullable Long burst, String at) {
        return new LimitSettings(source, new LimitPolicies(source, at).policy(limit, burst), soft, overrides);
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

    private static Map<String, RateLimitPolicy> overrides(LimitPolicies of, LimitKeys keys, String at) {
        Map<String, RateLimitPolicy> policies = new LinkedHashMap<>();
        List<KeyOverride> overrides = PropertyChecks.orNone(of.limit().overrides());
        for (int i = 0; i < overrides.size(); i++) {
            String here = at + "[" + i + "]";
            String name =
                    PropertyChecks.required(overrides.get(i).key(), here + ".key", "is needed: whose limit it is");
            String key = PropertyChecks.of(
                    here + ".key",
                    () -> keys.named(PropertyChecks.orNone(of.limit().key()), name));
            RateLimitPolicy policy = of.override(overrides.get(i), here);
            PropertyChecks.check(policies.put(key, policy) == null, here + ".key", "has an override already");
        }
        return Map.copyOf(policies);
    }
}
