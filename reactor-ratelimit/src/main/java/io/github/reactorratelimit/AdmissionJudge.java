package io.github.reactorratelimit;

import java.util.ArrayList;
import java.util.List;

/** What one policy allows one key, with the doubts on the side of the store: of several parts all count. Not thread-safe. */
final class AdmissionJudge {

    private final RateLimitPolicy policy;
    private final List<GrantCeiling> ceilings = new ArrayList<>();
    private final List<SpentAtMost> spent = new ArrayList<>();

    /** Whether denials can be judged under every part. */
    private final boolean judgesDenials;

    /** @param startNanos when the limiter was built: from then on all that was taken has been seen */
    AdmissionJudge(RateLimitPolicy policy, long startNanos) {
        this.policy = policy;
        List<RateLimitPolicy> parts = policy instanceof CompositePolicy all ? all.parts() : List.of(policy);
        for (RateLimitPolicy part : parts) {
            GrantCeiling ceiling = GrantCeiling.of(part);
            if (ceiling != null) {
                ceilings.add(ceiling);
            }
            spent.add(SpentAtMost.of(part, startNanos));
        }
        this.judgesDenials = spent.stream().allMatch(SpentAtMost::judges);
    }

    boolean isOf(RateLimitPolicy other) {
        return policy.equals(other);
    }

    boolean judgesGrants() {
        return !ceilings.isEmpty();
    }

    boolean judgesDenials() {
        return judgesDenials;
    }

    /** See {@link GrantCeiling#given}; of several parts the one that was exceeded most. */
    long given(long permits, long earliestNanos, long latestNanos) {
        long over = 0;
        for (GrantCeiling ceiling : ceilings) {
            over = Math.max(over, ceiling.given(permits, earliestNanos, latestNanos));
        }
        return over;
    }

    void cameBack(long permits) {
        ceilings.forEach(ceiling -> ceiling.cameBack(permits));
    }

    void clearCeilings() {
        ceilings.forEach(GrantCeiling::clear);
    }

    void taken(long permits, long nowNanos, boolean charged) {
        spent.forEach(most -> most.taken(permits, nowNanos, charged));
    }

    void anythingMayBeTaken(long nowNanos) {
        spent.forEach(most -> most.anythingMayBeTaken(nowNanos));
    }

    /** Whether so many permits must have been there. */
    boolean leavesRoomFor(long permits, long atNanos) {
        return spent.stream().allMatch(most -> most.leavesRoomFor(permits, atNanos));
    }

    boolean isNothingTaken(long nowNanos) {
        return spent.stream().allMatch(most -> most.isNothing(nowNanos));
    }
}
