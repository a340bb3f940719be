package io.github.reactorratelimit.local;

import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.LimiterState;
import io.github.reactorratelimit.RateLimitStore;

/**
 * State in this process: the default store, which needs nothing else. Each limiter has its own keys.
 *
 * <p>The number of keys is bounded. Keys that have recovered what they spent are forgotten first,
 * which changes no decision; when there are none, new keys share a fixed number of overflow cells and
 * may be denied for what others spent there: stricter, never laxer. With far more keys that owe permits than
 * {@code maxKeys}, 12 to 81 % of the requests of innocent keys were denied. The first such denial is logged as a
 * warning.
 */
public final class LocalStore implements RateLimitStore {

    /** Keys per limiter and policy unless {@link #withMaxKeys(int)} says otherwise. */
    public static final int DEFAULT_MAX_KEYS = 1_000_000;

    /** A resolver that makes up a policy for every key would make a table for every key. */
    private static final int MAX_POLICIES = 1_000;

    private final int maxKeys;

    private LocalStore(int maxKeys) {
        this.maxKeys = maxKeys;
    }

    /** A store for {@value #DEFAULT_MAX_KEYS} keys per limiter and policy. */
    public static LocalStore create() {
        return withMaxKeys(DEFAULT_MAX_KEYS);
    }

    /**
     * A store for at most {@code maxKeys} keys per limiter and policy. Set it above the number of keys that spend anything
     * within the policy's recovery time: with far more of them, 12 to 81 % of the requests of innocent keys are denied.
     */
    public static LocalStore withMaxKeys(int maxKeys) {
        if (maxKeys < 1) {
            throw new IllegalArgumentException("maxKeys must be positive, was " + maxKeys);
        }
        return new LocalStore(maxKeys);
    }

    @Override
    public LimiterState open(LimiterSettings settings) {
        return new LocalState(
                settings,
                new PolicyTables.Kind(
                        MAX_POLICIES,
                        "the policy resolver should return a few plans, not one policy per key",
                        (policy, clock, carried) ->
                                KeyTables.of(policy, clock, maxKeys, KeyTables.OVERFLOW_CELLS, carried)));
    }

    @Override
    public String toString() {
        return "LocalStore of at most " + maxKeys + " keys";
    }
}
