package io.github.reactorratelimit.local;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.RateLimitPolicy;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Which policy rules the keys that have none of their own, and which keys were given one. Told apart by identity: a policy may rule again.
 *
 * <p>Whoever names a policy that ruled before means the one that rules now: a stream that began then, a request that was under
 * way. Where no key has a policy of its own, every name means it. Where some have, the last {@value #MOST_PAST} are
 * remembered.
 */
final class Reign {

    static final int MOST_PAST = 1_000;

    final RateLimitPolicy policy;
    final KeyTable table;

    /** Whether any key was given a policy: for the hot path, where mostly none was. */
    final boolean hasOwnRules;

    private final boolean rulesAll;

    /** When it began to rule again, if it had ruled before. */
    private final long returnedAt;

    /** Policies that ruled before, the oldest first. */
    private final Set<RateLimitPolicy> past;

    /** Never changed: whoever has seen this reign has seen all of them. */
    private final Map<String, OwnRule> own;

    private Reign(
            RateLimitPolicy policy,
            KeyTable table,
            boolean rulesAll,
            long returnedAt,
            Set<RateLimitPolicy> past,
            Map<String, OwnRule> own) {
        this.rulesAll = rulesAll;
        this.policy = policy;
        this.table = table;
        this.returnedAt = returnedAt;
        this.past = past;
        this.own = own;
        this.hasOwnRules = !own.isEmpty();
    }

    /** @param rulesAll whether no key has a policy of its own */
    static Reign first(RateLimitPolicy policy, KeyTable table, boolean rulesAll) {
        return new Reign(policy, table, rulesAll, Long.MIN_VALUE, Set.of(), Map.of());
    }

    Reign next(RateLimitPolicy to, KeyTable with, long now) {
        Set<RateLimitPolicy> before = new LinkedHashSet<>(past);
        before.add(policy);
        boolean mayReturn = before.remove(to) || past.size() == MOST_PAST;
        if (before.size() > MOST_PAST) {
            // The first one is what keys without a policy of their own are looked up with.
            before.stream().skip(1).findFirst().ifPresent(before::remove);
        }
        return new Reign(to, with, rulesAll, mayReturn ? now : Long.MIN_VALUE, before, own);
    }

    /** The same, where one key has another rule. */
    Reign with(String key, OwnRule rule) {
        Map<String, OwnRule> more = new HashMap<>(own);
        more.put(key, rule);
        return new Reign(policy, table, rulesAll, returnedAt, past, more);
    }

    /** The same, where a key has no rule of its own. */
    Reign without(String key) {
        Map<String, OwnRule> fewer = new HashMap<>(own);
        fewer.remove(key);
        return new Reign(policy, table, rulesAll, returnedAt, past, fewer);
    }

    void forEachOwn(BiConsumer<String, OwnRule> action) {
        own.forEach(action);
    }

    int ownRules() {
        return own.size();
    }

    /** The rule of a key that was given one. */
    @Nullable
    OwnRule own(String key) {
        return hasOwnRules ? own.get(key) : null;
    }

    /** Whether what was taken under a policy then was carried over to another since: permits in flight never are. */
    boolean hasCarriedOver(String key, RateLimitPolicy taken, long takenAt) {
        if (policy instanceof ConcurrencyLimit) {
            return false;
        }
        OwnRule rule = own(key);
        if (rule != null) {
            return !taken.equals(rule.policy()) || takenAt <= rule.since();
        }
        return taken.equals(policy) ? takenAt <= returnedAt : isMeantBy(taken);
    }

    /** The policy that rules where {@code named} is asked for a key. */
    RateLimitPolicy ruling(String key, RateLimitPolicy named) {
        OwnRule rule = own(key);
        return rule == null || rule.follows() ? ruling(named) : rule.policy();
    }

    /** The policy that rules where {@code named} is asked for. */
    RateLimitPolicy ruling(RateLimitPolicy named) {
        return isMeantBy(named) ? policy : named;
    }

    /** Whether this policy rules where {@code named} is asked for. */
    boolean isMeantBy(RateLimitPolicy named) {
        return rulesAll || named.equals(policy) || past.contains(named);
    }
}
