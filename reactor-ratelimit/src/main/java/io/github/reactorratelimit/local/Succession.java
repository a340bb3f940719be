package io.github.reactorratelimit.local;

/** What is kept of the tables of policies that ruled before. */
final class Succession {

    /** Of so many changes in a row the tables are kept, for keys that have not come yet; then all keys move to the newest. */
    static final int MOST_KEPT = 4;

    private Succession() {}

    /** Lets all keys enter the newest table, if that goes far back, so that those before can be dropped. */
    static void shorten(KeyTable newest, long now) {
        Inheritance left = newest.inheritance();
        if (left != null && Inheritance.depth(left) > MOST_KEPT && left.canBeMoved()) {
            boolean[] allIn = {true};
            left.forEachKey(key -> allIn[0] &= newest.adopt(key, now));
            if (allIn[0]) {
                newest.forgetInheritance();
            }
        }
    }
}
