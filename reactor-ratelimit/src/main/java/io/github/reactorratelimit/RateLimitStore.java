package io.github.reactorratelimit;

/** Where the state of the keys lives: in this process, or in a server that processes share. */
public interface RateLimitStore {

    /**
     * Opens the state of one limiter; called once, when the limiter is built.
     *
     * @throws IllegalArgumentException if this store cannot hold the policy exactly
     */
    LimiterState open(LimiterSettings settings);
}
