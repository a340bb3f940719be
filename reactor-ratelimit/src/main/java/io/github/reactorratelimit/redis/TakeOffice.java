package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.LimiterSettings;
import java.util.concurrent.TimeUnit;

/**
 * What the pipes of a limiter's takes share.
 *
 * @param caller sends
 * @param breaker is told how calls end
 * @param deliveries brings answers to those who asked
 * @param keys names
 * @param coalescing whether takes share calls
 * @param onConnection whether answers are told on the thread that brings them
 * @param unusual keys that have to be asked for with the whole script
 * @param settings has the clock
 */
record TakeOffice(
        ScriptCaller caller,
        Breaker breaker,
        Deliveries deliveries,
        RedisKeys keys,
        boolean coalescing,
        boolean onConnection,
        UnusualKeys unusual,
        LimiterSettings settings) {

    long now() {
        return settings.scheduler().now(TimeUnit.NANOSECONDS);
    }

    /** Whether the keys of a call must be chosen so that they lie in one slot. */
    boolean isSplitBySlot() {
        return caller.isOnCluster() && !keys.shareASlot();
    }
}
