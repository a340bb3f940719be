package io.github.reactorratelimit.local;

import io.github.reactorratelimit.RateLimitPolicy;

/**
 * Gives keys policies of their own and takes them back.
 *
 * <p><b>Nothing is missed.</b> A key with a policy of its own has a table of its own, the heir of the one it was in, and a new {@link
 * Reign} says so. So all that {@link Inheritance} says of a change for everybody holds for the key: who debits the table before, because
 * it has not seen the new reign, debits once more. The key enters its table at once, and then what is before can be forgotten.
 *
 * <p><b>Given back</b>, a key stays in a table of its own under the policy that it is asked for with, and goes on so if that changes. Once
 * it owes nothing it goes back to everybody's: by then everything that was taken meanwhile has recovered, also what
 * might still be refunded. What everybody's table still knows of it is older, and stricter.
 */
final class OwnRules {

    /** Each costs a table; for more there are policies per key. */
    static final int MOST_OWN = 1_000;

    /** For one key, and for it again when it was forgotten. */
    static final int KEYS_OF_A_TABLE = 8;

    private final LocalState state;

    OwnRules(LocalState state) {
        this.state = state;
    }

    /** The table of a key with a rule of its own. */
    KeyTable table(Reign current, OwnRule own, String key, RateLimitPolicy named) {
        RateLimitPolicy ruling = current.ruling(key, named);
        if (own.policy().equals(ruling)) {
            return own.table();
        }
        // It was given back, and the policy that it has by now is another.
        rule(key, named, ruling, true);
        return state.table(key, named);
    }

    /** @throws IllegalStateException if too many keys have one */
    void give(String key, RateLimitPolicy named, RateLimitPolicy to) {
        rule(key, named, to, false);
    }

    void takeBack(String key, RateLimitPolicy named) {
        OwnRule own = state.reign().own(key);
        if (own != null && !own.follows()) {
            rule(key, named, state.ruling(named), true);
        }
    }

    /** Whether the key has a table of its own, so that there is nothing to carry from one of all to another. */
    boolean carry(String key, RateLimitPolicy to) {
        OwnRule own = state.reign().own(key);
        if (own != null && own.follows()) {
            rule(key, to, state.ruling(to), true);
        }
        return own != null;
    }

    /** Everybody's policy changed: those who follow it do so as of now. */
    void followAll() {
        state.reign().forEachOwn((key, own) -> {
            RateLimitPolicy ruling = state.ruling(own.policy());
            if (own.follows() && !own.policy().equals(ruling)) {
                rule(key, ruling, ruling, true);
            }
        });
    }

    private void rule(String key, RateLimitPolicy named, RateLimitPolicy to, boolean follows) {
        for (; ; ) {
            Reign before = state.reign();
            OwnRule own = before.own(key);
            long now = state.now();
            Reign kept = own == null ? withRoom(before, now) : before;
            OwnRule next = next(before, key, named, to, follows);
            if (next.equals(own)) {
                return;
            }
            if (state.succeed(before, kept.with(key, next))) {
                settleIn(key, next, now);
                return;
            }
        }
    }

    private OwnRule next(Reign before, String key, RateLimitPolicy named, RateLimitPolicy to, boolean follows) {
        OwnRule own = before.own(key);
        if (own != null && own.policy().equals(to)) {
            return new OwnRule(own.policy(), own.table(), own.since(), follows);
        }
        KeyTable table = own == null ? state.sharedTable(before, named) : own.table();
        long now = state.now();
        return new OwnRule(to, state.heirOf(table, to, now), now, follows);
    }

    private Reign withRoom(Reign before, long now) {
        Reign kept = before.withoutRecovered(now);
        if (kept.ownRules() >= MOST_OWN) {
            throw new IllegalStateException("limiter '" + state.name() + "' has policies for " + MOST_OWN
                    + " keys of their own; for more give it a policyPerKey");
        }
        return kept;
    }

    private static void settleIn(String key, OwnRule rule, long now) {
        if (rule.table().adopt(key, now)) {
            rule.table().inherit(null);
        }
    }
}
