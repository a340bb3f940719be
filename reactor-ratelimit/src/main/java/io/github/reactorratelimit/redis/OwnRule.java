package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.RateLimitPolicy;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * What this process knows of a key that has a policy of its own, or had one. Until the change has {@linkplain #isApplied reached} the
 * key, calls wait for that. Told apart by identity: each change makes another one.
 */
final class OwnRule {

    /** Policies that the key had of its own and that somebody may still name. */
    private static final int MOST_FORMER = 8;

    private static final long NOT_ANSWERED = Long.MAX_VALUE;

    /** The pipes of the calls for the key, and what they were made of. */
    private record Made(Ruling of, PolicyPipes pipes) {}

    private final String key;
    private final long number;
    private final @Nullable OwnRecord record;
    private final @Nullable Ruling ruling;
    private final List<RateLimitPolicy> former;
    private final @Nullable RateLimitPolicy base;
    private final SharedCall reaching;
    private final AtomicLong sinceMicros = new AtomicLong(NOT_ANSWERED);
    private final AtomicReference<@Nullable Made> made = new AtomicReference<>();
    private volatile boolean registered;
    private volatile boolean applied;

    private OwnRule(
            String key,
            long number,
            @Nullable OwnRecord record,
            @Nullable Ruling ruling,
            List<RateLimitPolicy> former,
            @Nullable RateLimitPolicy base,
            Function<OwnRule, Mono<Void>> reach) {
        this.key = key;
        this.number = number;
        this.record = record;
        this.ruling = ruling;
        this.former = former;
        this.base = base;
        this.reaching = new SharedCall(() -> reach.apply(this));
        this.registered = record != null;
        this.applied = record == null;
    }

    /**
     * Of a change that is registered.
     *
     * @param arguments of a policy
     * @param older what was known of the key before
     * @param reach brings a change to its key
     */
    static OwnRule of(
            String key,
            OwnRecord record,
            Function<RateLimitPolicy, PolicyArguments> arguments,
            @Nullable OwnRule older,
            Function<OwnRule, Mono<Void>> reach) {
        Ruling ruling = record.given()
                ? new Ruling(record.epoch(), arguments.apply(record.policy()), null).byChange(record)
                : null;
        return new OwnRule(key, record.number(), record, ruling, formerOf(older), record.base(), reach);
    }

    /** The way back from a change that was lost with the registry, where nobody finds it. */
    static OwnRule undoing(
            OwnRule lost, Function<RateLimitPolicy, PolicyArguments> arguments, Function<OwnRule, Mono<Void>> reach) {
        OwnRecord record = Objects.requireNonNull(lost.record).undone();
        OwnRule rule = of(lost.key, record, arguments, lost, reach);
        rule.registered = false;
        return rule;
    }

    /** Of a key that is as others again; all changes up to {@code number} are known. */
    static OwnRule following(String key, long number, @Nullable OwnRule older) {
        OwnRule rule = new OwnRule(
                key, number, null, null, formerOf(older), older == null ? null : older.base, done -> Mono.empty());
        if (older != null && older.isFollowing()) {
            rule.sinceMicros.set(older.sinceMicros.get());
        }
        return rule;
    }

    private static List<RateLimitPolicy> formerOf(@Nullable OwnRule older) {
        if (older == null) {
            return List.of();
        }
        RateLimitPolicy given = older.given();
        if (given == null) {
            return older.former;
        }
        List<RateLimitPolicy> former = new ArrayList<>(older.former);
        former.add(given);
        return List.copyOf(former.subList(Math.max(0, former.size() - MOST_FORMER), former.size()));
    }

    String key() {
        return key;
    }

    /** Of the change, or the last one that is known. */
    long number() {
        return number;
    }

    /** The change as it is registered; null if none is any more. */
    @Nullable
    OwnRecord record() {
        return record;
    }

    /** Whether others find the change in the registry. */
    boolean isRegistered() {
        return registered;
    }

    /** The policy that it has of its own; null if none. */
    @Nullable
    RateLimitPolicy given() {
        return record != null && record.given() ? record.policy() : null;
    }

    /** Whether it is as others again, and its state with it. */
    boolean isFollowing() {
        return given() == null && applied;
    }

    /** Whether its state is one of the policy that it has. */
    boolean isApplied() {
        return applied;
    }

    /** Nothing has to be done for it any more. */
    void apply() {
        applied = true;
    }

    /** Brings the change to the key, if that was not done. */
    Mono<Void> reach() {
        return applied ? Mono.empty() : reaching.join();
    }

    /**
     * Which policy somebody means who names this one: not one that the key had of its own. That is the very object which {@link #given}
     * told: one that equals it was found elsewhere, and is meant.
     */
    @SuppressWarnings("ReferenceEquality")
    RateLimitPolicy meant(RateLimitPolicy named) {
        if (base != null) {
            for (RateLimitPolicy one : former) {
                if (one == named) {
                    return base;
                }
            }
        }
        return named;
    }

    /** The key answered, by the server's clock. */
    void answered(long nowMicros) {
        if (sinceMicros.get() == NOT_ANSWERED) {
            sinceMicros.compareAndSet(NOT_ANSWERED, nowMicros);
        }
    }

    /** What was debited before belongs to a policy that is no more. */
    long sinceMicros() {
        return sinceMicros.get();
    }

    /** What calls for the key say if it has a policy of its own; null if not. */
    @Nullable
    Ruling ruling() {
        return ruling;
    }

    /** Pipes for calls under a rule, made once for it. */
    PolicyPipes pipes(Ruling of, Function<Ruling, PolicyPipes> making) {
        for (; ; ) {
            Made known = made.get();
            if (known != null && known.of().equals(of)) {
                return known.pipes();
            }
            made.compareAndSet(known, new Made(of, making.apply(of)));
        }
    }
}
