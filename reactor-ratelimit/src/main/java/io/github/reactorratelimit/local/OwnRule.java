package io.github.reactorratelimit.local;

import io.github.reactorratelimit.RateLimitPolicy;

/**
 * The policy of one key, and its state in a table of its own. A key that was given back to the policy it had before stays in such a
 * table until it owes nothing: so what it spent is neither lost nor counted for others.
 *
 * @param since when it began; what was taken before is not refunded
 * @param follows whether the key was given back, and has whichever policy it is asked for with
 */
record OwnRule(RateLimitPolicy policy, KeyTable table, long since, boolean follows) {

    /** Whether the key may go back to everybody's table, where it has spent nothing that counts here. */
    boolean isOver(String key, long now) {
        return follows && table.spent(key, now).stream().allMatch(spending -> spending.permits() == 0);
    }
}
