package io.github.reactorratelimit.algorithm;

/**
 * The deficit of a key.
 *
 * @param at a time
 * @param parts the deficit at that time, in the parts of the {@link RateArithmetic}
 */
record Deficit(long at, long parts) {

    /** No deficit, at any time. */
    static final Deficit NEVER = new Deficit(Long.MIN_VALUE, 0);
}
