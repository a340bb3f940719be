package io.github.reactorratelimit;

/**
 * A request asked for more permits than the policy can ever give at once. Waiting would not help, so
 * it is refused without one; raise the capacity or ask for less.
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

    /** Permits that were asked for. */
    public long permits() {
        return permits;
    }

    /** The most one request may ask for. */
    public long capacity() {
        return capacity;
    }
}
