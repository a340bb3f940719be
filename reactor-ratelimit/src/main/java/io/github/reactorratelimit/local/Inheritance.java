package io.github.reactorratelimit.local;

import io.github.reactorratelimit.algorithm.Spending;
import java.util.List;
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

    private final KeyTable before;
    final long asOf;

    /** When nothing is left of it, whoever comes then. */
    private final long until;

    /** @param until as of when a key that spent all it could at the change has recovered under the new policy */
    Inheritance(KeyTable before, long asOf, long until) {
        this.before = before;
        this.asOf = asOf;
        this.until = until;
    }

    boolean isOver(long now) {
        return now >= until;
    }

    /** What the key had spent at the change. */
    List<Spending> spent(String key) {
        return before.spent(key, asOf);
    }

    /** What the key spent is forgotten in the old table too, or it would inherit it again. */
    void forget(String key, long now) {
        before.reset(key, () -> now);
    }

    /** Tells of every key that may have spent something and has a state of its own. */
    void forEachKey(Consumer<String> action) {
        before.forEachKey(action);
        Inheritance earlier = before.inheritance();
        if (earlier != null) {
            earlier.forEachKey(action);
        }
    }

    /** Whether {@link #forEachKey} tells of everybody: keys that share cells are not known. */
    boolean canBeMoved() {
        Inheritance earlier = before.inheritance();
        return !before.isOverflowing() && (earlier == null || earlier.canBeMoved());
    }

    /** How many changes ago what it goes back to was made. */
    static int depth(@Nullable Inheritance inheritance) {
        int depth = 0;
        for (Inheritance each = inheritance; each != null; each = each.before.inheritance()) {
            depth++;
        }
        return depth;
    }
}
