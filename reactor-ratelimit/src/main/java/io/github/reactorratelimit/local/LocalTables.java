package io.github.reactorratelimit.local;

import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.RecoveryTime;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/** Makes the tables of one limiter, and keeps those of policies other than the one that rules. */
final class LocalTables {

    /** A resolver that makes up a policy for every key would make a table for every key. */
    private static final int MAX_POLICIES = 1_000;

    private final String limiter;
    private final LocalClock clock;
    private final int maxKeys;
    private final Consumer<String> cameBack;
    private final Map<RateLimitPolicy, KeyTable> others = new ConcurrentHashMap<>();

    /** @param cameBack told of keys whose permits came back: somebody may wait for them */
    LocalTables(String limiter, LocalClock clock, int maxKeys, Consumer<String> cameBack) {
        this.limiter = limiter;
        this.clock = clock;
        this.maxKeys = maxKeys;
        this.cameBack = cameBack;
    }

    /** An empty one. */
    KeyTable make(RateLimitPolicy policy) {
        return over(KeyTable.of(policy, clock.forAlgorithms(), maxKeys), policy);
    }

    private KeyTable over(KeyTable plain, RateLimitPolicy policy) {
        return PacedTable.over(StripedTable.over(plain, policy, clock::now, cameBack), policy);
    }

    /** Of keys that were given no policy. */
    KeyTable shared(Reign current, RateLimitPolicy policy) {
        return policy == current.policy ? current.table : other(current, policy);
    }

    private KeyTable other(Reign current, RateLimitPolicy policy) {
        if (current.isMeantBy(policy)) {
            return current.table;
        }
        KeyTable known = others.get(policy);
        if (known != null) {
            return known;
        }
        if (others.size() >= MAX_POLICIES) {
            throw new IllegalStateException("limiter '" + limiter + "' has more than " + MAX_POLICIES
                    + " different policies; the policy resolver should return a few plans, not one policy per key");
        }
        return others.computeIfAbsent(policy, this::make);
    }

    /** One for a single key, which begins with what it spent in another. */
    KeyTable heirOfOne(KeyTable before, RateLimitPolicy to, long now) {
        return heir(before, to, now, OwnRules.KEYS_OF_A_TABLE);
    }

    /** What rules when everybody has another policy; the same if it is the same policy. */
    Reign succeed(Reign before, RateLimitPolicy to) {
        long now = clock.now();
        if (to.equals(before.policy)) {
            return before;
        }
        KeyTable next = before.table.changeTo(to) ? before.table : heir(before.table, to, now, maxKeys);
        return before.next(to, next, now);
    }

    private KeyTable heir(KeyTable before, RateLimitPolicy to, long now, int keys) {
        Inheritance left = new Inheritance(before, to, now, saturatedAdd(now, RecoveryTime.of(to)));
        return over(KeyTable.heir(to, clock.forAlgorithms(), keys, left), to);
    }

    static long saturatedAdd(long now, Duration duration) {
        Duration longest = Duration.ofNanos(Long.MAX_VALUE - Math.max(now, 0));
        return duration.compareTo(longest) >= 0 ? Long.MAX_VALUE : now + duration.toNanos();
    }
}
