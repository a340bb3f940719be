package io.github.reactorratelimit.algorithm;

/**
 * What a key owes.
 *
 * @param at a time
 * @param parts what was owed then, in the parts of the {@link Meter}
 */
record Level(long at, long parts) {

    /** Nothing owed, at any time. */
    static final Level NEVER = new Level(Long.MIN_VALUE, 0);
}
