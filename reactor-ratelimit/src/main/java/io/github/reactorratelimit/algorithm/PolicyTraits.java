package io.github.reactorratelimit.algorithm;

import io.github.reactorratelimit.RateLimitPolicy;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/**
 * The properties of a policy that stores and queues need, so that they do not test its type. See {@link
 * Algorithms#traits}.
 *
 * @param policy the policy
 * @param recoveryPermits a key has recovered from any debit after the time in which so many permits come
 *     back,
 * @param recoveryDelay and this time on top of it
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

    /** Of a composite: a trait that all parts have, and the longest times. */
    static PolicyTraits ofAll(RateLimitPolicy policy, List<PolicyTraits> parts) {
        return new PolicyTraits(
                policy,
                0,
                longest(parts, PolicyTraits::recovery),
                longest(parts, PolicyTraits::phase),
                parts.stream().allMatch(PolicyTraits::catchesUp),
                parts.stream().flatMap(part -> part.whyNotPrepaid.stream()).findFirst());
    }

    private static Duration longest(List<PolicyTraits> parts, Function<PolicyTraits, Duration> time) {
        return parts.stream().map(time).max(Duration::compareTo).orElseThrow();
    }

    PolicyTraits withPhase(Duration phase) {
        return new PolicyTraits(policy, recoveryPermits, recoveryDelay, phase, catchesUp, whyNotPrepaid);
    }

    PolicyTraits catchingUp(boolean catchesUp) {
        return new PolicyTraits(policy, recoveryPermits, recoveryDelay, phase, catchesUp, whyNotPrepaid);
    }

    PolicyTraits notPrepaid(String why) {
        return new PolicyTraits(policy, recoveryPermits, recoveryDelay, phase, catchesUp, Optional.of(why));
    }

    /** The longest time until a key has recovered from a debit, without slots that lie ahead. */
    public Duration recovery() {
        return policy.timeFor(recoveryPermits).orElse(Duration.ZERO).plus(recoveryDelay);
    }
}
