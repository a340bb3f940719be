package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.RateLimitPolicy;
import java.util.Objects;

/** What a limiter answers while Redis does not. Every such answer is counted by the recorder. */
public sealed interface FailureMode {

    /** Everything is allowed: traffic matters more than the limit. */
    record Open() implements FailureMode {

        @Override
        public String toString() {
            return "open()";
        }
    }

    /** Everything is denied: the limit matters more than traffic. */
    record Closed() implements FailureMode {

        @Override
        public String toString() {
            return "closed()";
        }
    }

    /**
     * A stated share of the limit is given out in this process, and never more than the policy in effect
     * allows.
     *
     * @param policy what this process may give out by itself
     */
    record Local(RateLimitPolicy policy) implements FailureMode {
        public Local {
            Objects.requireNonNull(policy, "policy");
        }

        @Override
        public String toString() {
            return "local(" + policy + ")";
        }
    }

    /**
     * An equal share of the policy in effect is given out in this process.
     *
     * @param instances how many processes share the limit
     */
    record Share(int instances) implements FailureMode {
        public Share {
            if (instances < 1) {
                throw new IllegalArgumentException("instances must be positive, was " + instances);
            }
        }

        @Override
        public String toString() {
            return "local(" + instances + ")";
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
     * Gives out a share of the limit while Redis is unavailable. When Redis answers again each key is charged
     * with what it was given, at most with its capacity, for at most 10 000 keys. A refund of what was given
     * out gives nothing back. If the limiter's policy was changed, the share stays, but no more is given out
     * than the policy in effect allows.
     */
    static FailureMode local(RateLimitPolicy share) {
        return new Local(share);
    }

    /**
     * {@link #local(RateLimitPolicy)} with {@link RateLimitPolicy#share(int)} of the policy in effect: a
     * changed policy changes the share too. If the policy has fewer permits than there are instances, nothing
     * is given out.
     */
    static FailureMode local(int instances) {
        return new Share(instances);
    }
}
