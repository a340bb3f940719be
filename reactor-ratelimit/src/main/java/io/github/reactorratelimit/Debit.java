package io.github.reactorratelimit;

import java.util.Objects;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import org.jspecify.annotations.Nullable;

/**
 * What one allowed request took: whose, how much, when, under which policy. A refund carries it, so
 * that giving back never lifts a key above what it would have had the debit not happened. Made by a
 * {@link RateLimitStore}; given back at most once.
 */
public final class Debit {

    private static final AtomicIntegerFieldUpdater<Debit> SETTLED =
            AtomicIntegerFieldUpdater.newUpdater(Debit.class, "settled");

    private final Object owner;
    private final String key;
    private final RateLimitPolicy policy;
    private final long permits;
    private final long atTick;

    /** 1 once somebody has claimed it: no object of its own, since there is a debit for each decision. */
    private volatile int settled;

    /** The same request at the shadow; written before the decision is handed over. */
    private @Nullable ShadowRequest shadow;

    /**
     * @param owner the {@link LimiterState} that made it; refunds anywhere else are refused
     * @param key whose permits
     * @param policy the whole policy the key had, composites included
     * @param permits how many
     * @param atTick the store's time of the debit, in the store's ticks
     */
    public Debit(Object owner, String key, RateLimitPolicy policy, long permits, long atTick) {
        this.owner = Objects.requireNonNull(owner, "owner");
        this.key = Objects.requireNonNull(key, "key");
        this.policy = Objects.requireNonNull(policy, "policy");
        this.permits = permits;
        this.atTick = atTick;
    }

    /** The state this was taken from. */
    public Object owner() {
        return owner;
    }

    /** Whose permits. */
    public String key() {
        return key;
    }

    /** The policy the key had when it was debited. */
    public RateLimitPolicy policy() {
        return policy;
    }

    /** How many permits. */
    public long permits() {
        return permits;
    }

    /** When, in the ticks of the store that made it. */
    public long atTick() {
        return atTick;
    }

    /** True for the first caller only: whoever gets it gives the permits back. */
    public boolean claim() {
        return settled == 0 && SETTLED.compareAndSet(this, 0, 1);
    }

    /** So many of the permits, as a debit of its own; whoever has claimed this gives that back. */
    Debit part(long fewer) {
        if (fewer == permits) {
            return this;
        }
        Debit part = new Debit(owner, key, policy, fewer, atTick);
        part.shadow = shadow;
        return part;
    }

    @Nullable
    ShadowRequest shadow() {
        return shadow;
    }

    void shadow(ShadowRequest request) {
        this.shadow = request;
    }

    @Override
    public String toString() {
        return "Debit of " + permits;
    }
}
