package io.github.reactorratelimit;

import java.util.List;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** A state that can take permits of several limiters in one step, where they are in the same place. */
public interface JointState extends LimiterState {

    /**
     * What is asked of one of them.
     *
     * @param state whose keys
     * @param key whose permits
     * @param override the policy that the key has instead of the limiter's; null if none
     * @param permits how many, between 1 and the policy's capacity
     */
    record Take(LimiterState state, String key, @Nullable RateLimitPolicy override, long permits) {}

    /**
     * Takes all or nothing, in one atomic step, and decides as {@link #evaluate} would one after the other:
     * yields the decisions in order, up to the first denial. After a denial nothing was taken, and the debits
     * of those before it are {@linkplain Debit#claim() claimed}. Empty if these cannot be asked together, or
     * could not be just now; then ask one after the other. Cancelling before the decisions are delivered gives back what they took.
     */
    Mono<List<Decision>> evaluateTogether(List<Take> takes);
}
