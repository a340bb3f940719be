package io.github.reactorratelimit.local;

import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Spending;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * What the keys of a table spent in another one, under the policy before: a key that enters begins with it.
 *
 * <p><b>As of when.</b> What was spent is read as of the change, and counts in the new table as spent then, whenever the
 * key comes: so it recovers at the new rate from the change on. That stays the same each time it is read. So a
 * key that was forgotten, and comes back, may begin with it again: it was forgotten because it had
 * recovered, and what it inherits recovers no later.
 *
 * <p><b>Nothing is missed.</b> A thread that has not seen the change may still debit the old table. It looks after its
 * debit whether that table rules, and if not debits the new one too. Who lets a key enter the new table
 * came after the change; it publishes the entering, then reads the old table. So a debit there is read, or was made by a
 * thread that sees the change and debits again. One may count twice, which is stricter.
 */
final class Inheritance {

    private static final int MOST_RESET = 10_000;

    /** Null if nobody knows any more what was spent: then everything was. */
    private final @Nullable KeyTable before;

    private final RateLimitPolicy heir;
    final long asOf;

    /** When nothing is left of it, whoever comes then. */
    private final long until;

    /** Keys that were reset since the change. */
    private final Set<String> reset = ConcurrentHashMap.newKeySet();

    /** @param until as of when a key that spent all it could at the change has recovered under the new policy */
    Inheritance(@Nullable KeyTable before, RateLimitPolicy heir, long asOf, long until) {
        this.before = before;
        this.heir = heir;
        this.asOf = asOf;
        this.until = until;
    }

    /** The same, if what is before it is dropped: stricter. */
    Inheritance asIfEverythingWasSpent() {
        return new Inheritance(null, heir, asOf, until);
    }

    boolean isOver(long now) {
        return now >= until;
    }

    /** What the key had spent at the change. */
    List<Spending> spent(String key) {
        if (reset.contains(key)) {
            return List.of();
        }
        return before == null ? List.of(new Spending(heir, Long.MAX_VALUE / 4)) : before.spent(key, asOf);
    }

    /** The key was reset and inherits nothing any more; of those beyond a bound what they spent comes back when they were forgotten. */
    void forget(String key) {
        if (reset.size() < MOST_RESET) {
            reset.add(key);
        }
    }

    /** Tells of every key that may have spent something and has a state of its own. */
    void forEachKey(Consumer<String> action) {
        if (before != null) {
            before.forEachKey(action);
            Inheritance earlier = before.inheritance();
            if (earlier != null) {
                earlier.forEachKey(action);
            }
        }
    }

    /** Whether {@link #forEachKey} tells of everybody: keys that share cells are not known. */
    boolean canBeMoved() {
        if (before == null) {
            return false;
        }
        Inheritance earlier = before.inheritance();
        return !before.isOverflowing() && (earlier == null || earlier.canBeMoved());
    }

    private @Nullable Inheritance earlier() {
        return before == null ? null : before.inheritance();
    }

    /** How many changes ago what it goes back to was made. */
    static int depth(@Nullable Inheritance inheritance) {
        int depth = 0;
        for (Inheritance each = inheritance; each != null; each = each.earlier()) {
            depth++;
        }
        return depth;
    }
}
