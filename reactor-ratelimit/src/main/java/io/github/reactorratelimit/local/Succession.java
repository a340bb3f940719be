package io.github.reactorratelimit.local;

/** What is kept of the tables of policies that ruled before. */
final class Succession {

    /** Of so many changes in a row the tables are kept, for keys that have not come yet; then all keys move to the newest. */
    static final int MOST_KEPT = 4;

    /** As many are kept if some keys cannot move, because they share cells or find no room; then they begin with all spent. */
    static final int MOST_KEPT_OF_MORE_KEYS = 16;

    private Succession() {}

    /** Lets all keys enter the newest table, if that goes far back, so that those before can be dropped. */
    static void shorten(KeyTable newest, long now) {
        Inheritance left = newest.inheritance();
        int depth = Inheritance.depth(left);
        if (left == null || depth <= MOST_KEPT) {
            return;
        }
        boolean[] allIn = {left.canBeMoved()};
        left.forEachKey(key -> allIn[0] &= newest.adopt(key, now));
        if (allIn[0]) {
            newest.inherit(null);
        } else if (depth > MOST_KEPT_OF_MORE_KEYS) {
            newest.inherit(left.asIfEverythingWasSpent());
        }
    }
}
