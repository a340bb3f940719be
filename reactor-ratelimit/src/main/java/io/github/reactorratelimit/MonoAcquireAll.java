package io.github.reactorratelimit;

import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** {@link RateLimiter#acquireAll} of limiters whose states are all in memory. */
final class MonoAcquireAll extends MonoImmediate<JointDecision> {

    private final MonoTryAcquire[] requests;

    private MonoAcquireAll(MonoTryAcquire[] requests) {
        this.requests = requests;
    }

    /** Null if one of them is not in memory. */
    static @Nullable MonoAcquireAll of(List<RateLimiter.PermitRequest> requests) {
        MonoTryAcquire[] immediate = new MonoTryAcquire[requests.size()];
        for (int i = 0; i < immediate.length; i++) {
            RateLimiter.PermitRequest request = requests.get(i);
            if (request.limiter() instanceof DefaultRateLimiter limiter
                    && limiter.tryAcquire(request.key(), request.permits()) instanceof MonoTryAcquire one) {
                immediate[i] = one;
            } else {
                return null;
            }
        }
        return new MonoAcquireAll(immediate);
    }

    @Override
    JointDecision decide() {
        Decision[] decisions = new Decision[requests.length];
        int count = 0;
        try {
            while (count < requests.length) {
                Decision decision = requests[count].decide();
                decisions[count] = decision;
                requests[count++].delivering(decision);
                if (!decision.allowed()) {
                    undo(decisions, count);
                    return new JointDecision(List.of(Arrays.copyOf(decisions, count)));
                }
            }
        } catch (RuntimeException failure) {
            undo(decisions, count);
            throw failure;
        }
        return new JointDecision(List.of(decisions));
    }

    private void undo(Decision[] decisions, int count) {
        for (int i = 0; i < count; i++) {
            requests[i].undo(decisions[i]);
        }
    }

    @Override
    void delivering(JointDecision joint) {}

    @Override
    void undo(JointDecision joint) {
        List<Decision> decisions = joint.decisions();
        for (int i = 0; i < decisions.size(); i++) {
            requests[i].undo(decisions.get(i));
        }
    }
}
