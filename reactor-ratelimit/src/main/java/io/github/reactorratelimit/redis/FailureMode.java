package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.RateLimitPolicy;
import java.util.Objects;

/** What a limiter answers while Redis does not. Every such answer is counted by the recorder. */
public sealed interface FailureMode {

    /** Everything is allowed: traffic matters more than the limit. */
    record Open() implements FailureMode {}

    /** Everything is denied: the limit matters more than traffic. */
    record Closed() implements FailureMode {}

    /**
     * A share of the limit is given out in this process.
     *
     * @param policy what this process may give out by itself, for example {@code policy.share(instances)}
     */
    record Local(RateLimitPolicy policy) implements FailureMode {
        public Local {
            Objects.requireNonNull(policy, "policy");
        }
    }

    /** Allows everything while Redis is away. */
    static FailureMode open() {
        return new Open();
    }

    /** Denies everything while Redis is away. */
    static FailureMode closed() {
        return new Closed();
    }

    /**
     * Gives out a share of the limit while Redis is away. When it answers again each key is charged with what it
     * was given, at most with its capacity, for at most 10 000 keys. A refund of what was given out gives nothing back.
     */
    static FailureMode local(RateLimitPolicy share) {
        return new Local(share);
    }
}
