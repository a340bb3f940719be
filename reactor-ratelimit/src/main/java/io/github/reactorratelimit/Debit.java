package io.github.reactorratelimit;

import java.util.Objects;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * What one allowed request took: of which key, how many permits, when, under which policy. A {@link
 * RateLimitStore} makes it, and a refund carries it, so that a refund never gives a key more than it would
 * have without the debit. It is refunded at most once.
 */
public final class Debit {

    private static final AtomicIntegerFieldUpdater<Debit> SETTLED =
            AtomicIntegerFieldUpdater.newUpdater(Debit.class, "settled");

    private final Object owner;
    private final String key;
    private final RateLimitPolicy policy;
    private final long permits;
    private final long atTick;

    /**
     * 1 once it is claimed; an int instead of an atomic object, because there is a debit for each decision.
     */
    private volatile int settled;

    private @Nullable LongConsumer onRefund;

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

    /** True for the first caller only, which then gives the permits back. */
    public boolean claim() {
        return settled == 0 && SETTLED.compareAndSet(this, 0, 1);
    }

    /** A part of the permits as a debit, for the caller that has claimed this. */
    Debit part(long fewer) {
        if (fewer == permits) {
            return this;
        }
        Debit part = new Debit(owner, key, policy, fewer, atTick);
        part.onRefund = onRefund;
        return part;
    }

    /**
     * Sets the listener of a refund, before the decision is delivered. It gets the number of permits that
     * come back.
     */
    void onRefund(LongConsumer listener) {
        onRefund = listener;
    }

    /** Tells the listener that these permits come back. */
    void refunded() {
        if (onRefund != null) {
            onRefund.accept(permits);
        }
    }

    @Override
    public String toString() {
        return "Debit of " + permits;
    }
}
