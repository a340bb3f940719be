package io.github.reactorratelimit.algorithm;

import io.github.reactorratelimit.RateLimitPolicy;
import java.time.Duration;
import java.util.Optional;

/**
 * What stores and queues want to know of a policy, so that they need not know its kind. See {@link Algorithms#traits}.
 *
 * @param policy the policy
 * @param recoveryPermits a key has recovered from any debit when this many permits have come back,
 * @param recoveryDelay and this much time has passed on top of that
 * @param phase the period whose phase is set by a key's first request; zero if there is none
 * @param catchesUp whether permits that a late timer delivers are debited at the time they came due
 * @param whyNotPrepaid why permits cannot be debited ahead and spent later; empty if they can
 */
public record PolicyTraits(
        RateLimitPolicy policy,
        long recoveryPermits,
        Duration recoveryDelay,
        Duration phase,
        boolean catchesUp,
        Optional<String> whyNotPrepaid) {

    /** Of a policy that can be prepaid, has no phase and does not catch up. */
    static PolicyTraits of(RateLimitPolicy policy, long recoveryPermits, Duration recoveryDelay) {
        return new PolicyTraits(policy, recoveryPermits, recoveryDelay, Duration.ZERO, false, Optional.empty());
    }

    PolicyTraits withPhase(Duration phase) {
        return new PolicyTraits(policy, recoveryPermits, recoveryDelay, phase, catchesUp, whyNotPrepaid);
    }

    PolicyTraits catchingUp(boolean catchesUp) {
        return new PolicyTraits(policy, recoveryPermits, recoveryDelay, phase, catchesUp, whyNotPrepaid);
    }

    PolicyTraits notPrepaid(Optional<String> why) {
        return new PolicyTraits(policy, recoveryPermits, recoveryDelay, phase, catchesUp, why);
    }

    /** How long a key remembers a debit at most: after that nothing is spent any more. Slots ahead are not included. */
    public Duration recovery() {
        return policy.timeFor(recoveryPermits).orElse(Duration.ZERO).plus(recoveryDelay);
    }
}
