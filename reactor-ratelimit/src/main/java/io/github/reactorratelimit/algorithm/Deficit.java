package io.github.reactorratelimit.algorithm;

/**
 * What a key owes.
 *
 * @param at a time
 * @param parts what was owed then, in the parts of the {@link RateArithmetic}
 */
record Deficit(long at, long parts) {

    /** Nothing owed, at any time. */
    static final Deficit NEVER = new Deficit(Long.MIN_VALUE, 0);
}
