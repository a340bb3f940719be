package io.github.reactorratelimit.local;

import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.LimiterState;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimitStore;
import io.github.reactorratelimit.TokenBucket;

/**
 * State in this process in a fixed number of bytes, whatever the number of keys: for keys that any client can make
 * up, such as IP addresses. Keys share cells. So a key may be denied for what others spent, and is never
 * allowed what its policy alone would deny: stricter, never laxer. A key whose cells no other key shares is
 * limited exactly as in a {@code LocalStore}.
 *
 * <p>For {@link Gcra} and {@link TokenBucket} with continuous refill; other policies are refused when the limiter
 * is built. A rate whose interval is no multiple of a 64th of a nanosecond is rounded to the strict side.
 *
 * <p>What a sketch cannot do, because others may count on the same cells: a refund returns permits only if no other key
 * used the cell since, else it is lost and counted by {@code REFUND_LOST}; {@code reset} ends a pause but forgets
 * nothing, what was spent comes back with time. Each policy of a {@code policyPerKey} has separate cells: at
 * most {@value #MAX_POLICIES} policies.
 */
public final class SketchStore implements RateLimitStore {

    /** Cells of each key unless {@link #withRows(int)} says otherwise. */
    public static final int DEFAULT_ROWS = 4;

    static final int MAX_POLICIES = 16;
    private static final int MAX_ROWS = 16;
    private static final long MIN_BYTES = MAX_ROWS * Long.BYTES;
    private static final long MAX_BYTES = (Integer.MAX_VALUE - 8L) * Long.BYTES;

    private final long bytes;
    private final int rows;

    private SketchStore(long bytes, int rows) {
        this.bytes = bytes;
        this.rows = rows;
    }

    /** A store of so many bytes for each limiter: {@code ofBytes(16 << 20)} is 16 MiB, two million cells. */
    public static SketchStore ofBytes(long bytes) {
        if (bytes < MIN_BYTES || bytes > MAX_BYTES) {
            throw new IllegalArgumentException(
                    "bytes must be between " + MIN_BYTES + " and " + MAX_BYTES + ", was " + bytes);
        }
        return new SketchStore(bytes, DEFAULT_ROWS);
    }

    /**
     * The same bytes in another number of rows. A key has a cell in each row and is judged by the best of them:
     * more rows help against a few greedy keys, fewer against many modest ones.
     */
    public SketchStore withRows(int rows) {
        if (rows < 1 || rows > MAX_ROWS) {
            throw new IllegalArgumentException("rows must be between 1 and " + MAX_ROWS + ", was " + rows);
        }
        return new SketchStore(bytes, rows);
    }

    /** @throws IllegalArgumentException if the policy is none that a sketch can hold */
    @Override
    public LimiterState open(LimiterSettings settings) {
        return new LocalState(
                settings,
                new PolicyTables.Kind(
                        MAX_POLICIES,
                        "in a SketchStore each takes as much memory as all its keys",
                        (policy, clock, carried) -> table(policy)));
    }

    SketchTable table(RateLimitPolicy policy) {
        return SketchTable.of(policy, (int) (bytes / Long.BYTES / rows), rows);
    }

    @Override
    public String toString() {
        return "SketchStore of " + bytes + " bytes in " + rows + " rows";
    }
}
