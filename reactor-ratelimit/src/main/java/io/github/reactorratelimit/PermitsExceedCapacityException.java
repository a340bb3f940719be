package io.github.reactorratelimit;

/**
 * A request for more permits than the policy can ever grant at once. Waiting would not help, so it is refused
 * immediately: raise the capacity or request less.
 */
public final class PermitsExceedCapacityException extends RateLimitException {

    private static final long serialVersionUID = 1L;

    private final long permits;
    private final long capacity;

    public PermitsExceedCapacityException(long permits, long capacity) {
        super("permits " + permits + " can never be allowed: the policy gives at most " + capacity
                + " at once; ask for less or raise its capacity");
        this.permits = permits;
        this.capacity = capacity;
    }

    /** Permits that were requested. */
    public long permits() {
        return permits;
    }

    /** The most permits of one request. */
    public long capacity() {
        return capacity;
    }
}
