package io.github.reactorratelimit.local;

import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Spending;
import org.jspecify.annotations.Nullable;

/**
 * Gives keys policies of their own and takes them back.
 *
 * <p><b>Nothing is missed.</b> A key with a policy of its own has a table of its own, the heir of the one it was in, and a new {@link
 * Reign} says so. So all that {@link Inheritance} says of a change for everybody holds for the key: who debits the table before, because
 * it has not seen the new reign, debits once more. The key enters its table at once, and then what is before can be forgotten.
 *
 * <p><b>Given back</b>, a key stays in a table of its own under the policy that it is asked for with, and goes on so if that changes. Where
 * room is needed for others, and it owes nothing, it goes back to everybody's: by then everything that was taken meanwhile has recovered,
 * also what might still be refunded. What everybody's table still knows of it is from before, and forgotten then.
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
        follow(key, ruling);
        return state.table(key, named);
    }

    /** @throws IllegalStateException if too many keys have one */
    void give(String key, RateLimitPolicy named, RateLimitPolicy to) {
        for (; ; ) {
            Reign before = state.reign();
            OwnRule own = before.own(key);
            if (own == null && before.ownRules() >= MOST_OWN) {
                makeRoom();
                continue;
            }
            KeyTable table = own == null ? state.sharedTable(before, named) : own.table();
            if (succeed(before, key, own, next(own, table, to, false))) {
                return;
            }
        }
    }

    void takeBack(String key, RateLimitPolicy named) {
        OwnRule own;
        Reign before;
        do {
            before = state.reign();
            own = before.own(key);
        } while (own != null
                && !own.follows()
                && !succeed(before, key, own, next(own, own.table(), before.ruling(named), true)));
    }

    /** Whether the key has a table of its own, so that there is nothing to carry from one of all to another. */
    boolean carry(String key, RateLimitPolicy to) {
        follow(key, state.ruling(to));
        return state.reign().own(key) != null;
    }

    /** Everybody's policy changed: those who follow it do so as of now. */
    void followAll() {
        state.reign().forEachOwn((key, own) -> follow(key, state.ruling(own.policy())));
    }

    /** Lets a key that was given back have another policy. */
    private void follow(String key, RateLimitPolicy ruling) {
        OwnRule own;
        Reign before;
        do {
            before = state.reign();
            own = before.own(key);
        } while (own != null && own.follows() && !succeed(before, key, own, next(own, own.table(), ruling, true)));
    }

    private OwnRule next(@Nullable OwnRule own, KeyTable table, RateLimitPolicy to, boolean follows) {
        if (own != null && own.policy().equals(to)) {
            return new OwnRule(own.policy(), table, own.since(), follows);
        }
        long now = state.now();
        return new OwnRule(to, state.heirOf(table, to, now), now, follows);
    }

    private boolean succeed(Reign before, String key, @Nullable OwnRule own, OwnRule next) {
        if (next.equals(own)) {
            return true;
        }
        boolean succeeded = state.succeed(before, before.with(key, next));
        if (succeeded && next.table().adopt(key, next.since())) {
            next.table().inherit(null);
        }
        return succeeded;
    }

    private void makeRoom() {
        state.reign().forEachOwn((key, own) -> {
            if (own.isOver(key, state.now())) {
                letGo(key, own);
            }
        });
        if (state.reign().ownRules() >= MOST_OWN) {
            throw new IllegalStateException("limiter '" + state.name() + "' has policies for " + MOST_OWN
                    + " keys of their own; for more give it a policyPerKey");
        }
    }

    /**
     * Lets a key go back to everybody's table. Somebody may debit its own until that is known: so everything is spent in everybody's, then
     * the key goes, and then that is undone, with all that was spent there before the key had a policy of its own; but for what was spent
     * in its own by those who had not seen it go.
     */
    private void letGo(String key, OwnRule own) {
        Reign before = state.reign();
        KeyTable shared = state.sharedTable(before, own.policy());
        long now = state.now();
        if (!own.equals(before.own(key)) || !own.policy().settles() || !shared.adopt(key, now)) {
            return;
        }
        long all = own.policy().capacity();
        long held = all - shared.overdraw(key, now, all, 0);
        boolean gone = state.succeed(before, before.without(key));
        long spent = gone ? Spending.under(own.policy(), own.table().spent(key, now)) : 0;
        if (gone && spent == 0) {
            shared.reset(key, state::now);
        } else if (held > spent) {
            shared.refund(key, state::now, now, held - spent);
        }
        state.permitsCameBack(key);
    }
}
