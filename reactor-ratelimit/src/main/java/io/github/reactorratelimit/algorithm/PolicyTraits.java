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
 * @param recovery the longest time until a key has recovered from a debit, without slots that lie ahead
 * @param phase the period whose phase is set by a key's first request; zero if there is none
 * @param catchesUp whether permits that a late timer delivers are debited at the time they came due
 * @param whyNotPrepaid why permits cannot be debited ahead and spent later; empty if they can
 */
public record PolicyTraits(Duration recovery, Duration phase, boolean catchesUp, Optional<String> whyNotPrepaid) {

    /** Of a policy that can be prepaid, has no phase and does not catch up. */
    static PolicyTraits of(Duration recovery) {
        return new PolicyTraits(recovery, Duration.ZERO, false, Optional.empty());
    }

    /** Of one that has recovered when so many permits have come back, and after a delay, and that catches up. */
    static PolicyTraits ofRate(RateLimitPolicy policy, long permits, Duration delay) {
        Duration recovery = policy.timeFor(permits).orElseThrow().plus(delay);
        return new PolicyTraits(recovery, Duration.ZERO, true, Optional.empty());
    }

    /** Of a composite: a trait that all parts have, and the longest times. */
    static PolicyTraits ofAll(List<PolicyTraits> parts) {
        return new PolicyTraits(
                longest(parts, PolicyTraits::recovery),
                longest(parts, PolicyTraits::phase),
                parts.stream().allMatch(PolicyTraits::catchesUp),
                parts.stream().flatMap(part -> part.whyNotPrepaid.stream()).findFirst());
    }

    private static Duration longest(List<PolicyTraits> parts, Function<PolicyTraits, Duration> time) {
        return parts.stream().map(time).max(Duration::compareTo).orElseThrow();
    }

    PolicyTraits withPhase(Duration phase) {
        return new PolicyTraits(recovery, phase, catchesUp, whyNotPrepaid);
    }

    PolicyTraits catchingUp(boolean catchesUp) {
        return new PolicyTraits(recovery, phase, catchesUp, whyNotPrepaid);
    }

    PolicyTraits notPrepaid(String why) {
        return new PolicyTraits(recovery, phase, catchesUp, Optional.of(why));
    }
}
