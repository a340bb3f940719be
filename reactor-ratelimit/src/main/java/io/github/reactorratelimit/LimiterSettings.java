package io.github.reactorratelimit;

import java.util.Objects;
import reactor.core.scheduler.Scheduler;

/**
 * What a store knows of a limiter when it opens its state.
 *
 * @param name the limiter's name, for errors and meters
 * @param policy the policy of keys that have none of their own
 * @param scheduler clock and timer
 * @param callbacks where waiters are signalled, so that their code delays no grant
 * @param recorder hears of waits and refunds from the store; of decisions by the limiter
 * @param maxWaiters requests that may wait for one key at a time
 * @param policiesPerKey whether keys may have policies of their own; if not, whichever policy is named is the
 *     limiter's
 */
public record LimiterSettings(
        String name,
        RateLimitPolicy policy,
        Scheduler scheduler,
        Scheduler callbacks,
        RateLimitRecorder recorder,
        int maxWaiters,
        boolean policiesPerKey) {

    public LimiterSettings {
        Objects.requireNonNull(name, "name");
        Objects.requireNonNull(policy, "policy");
        Objects.requireNonNull(scheduler, "scheduler");
        Objects.requireNonNull(callbacks, "callbacks");
        Objects.requireNonNull(recorder, "recorder");
        Checks.require(maxWaiters >= 1, "maxWaiters must be positive, was " + maxWaiters);
    }
}
