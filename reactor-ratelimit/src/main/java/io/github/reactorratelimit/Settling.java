package io.github.reactorratelimit;

import io.github.reactorratelimit.RateLimitRecorder.Event;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;

/**
 * Settles the reservations of one limiter: charges and gives back at its state, counts what was lost, and knows what is under
 * way, for whoever closes the limiter.
 */
final class Settling {

    private final LimiterState state;
    private final DecisionListeners listeners;
    private final RateLimitRecorder recorder;
    private final PolicyLookup policies;
    private final OptionalLong maxDebt;
    private final AtomicInteger underWay = new AtomicInteger();
    private final AtomicReference<Sinks.@Nullable Empty<Void>> awaited = new AtomicReference<>();

    /** @param maxDebt permits a key may owe; as many as its capacity, unless given */
    Settling(LimiterState state, DecisionListeners listeners, PolicyLookup policies, OptionalLong maxDebt) {
        this.state = state;
        this.listeners = listeners;
        this.recorder = listeners.recorder();
        this.policies = policies;
        this.maxDebt = maxDebt;
    }

    RateLimitRecorder recorder() {
        return recorder;
    }

    static void requireSettles(RateLimitPolicy policy) {
        if (!policy.settles()) {
            throw new IllegalStateException(
                    "reservations of " + policy + " cannot be settled: slots of a LeakyBucket pass by,"
                            + " and permits of a ConcurrencyLimit are not spent; reserve from a token bucket, a GCRA or a window");
        }
    }

    Reservation open(String key, Decision decision) {
        recorder.counted(Event.RESERVED, decision.permits());
        return new OpenReservation(this, key, decision);
    }

    /** Gives back a part of a debit, or all of it; the caller has claimed it. Never fails: what the state could not give back it has counted. */
    Mono<Void> giveBack(Debit debit, long permits) {
        Debit part = debit.part(permits);
        return tracked(listeners
                .alongside(Mono.defer(() -> state.refund(part)), shadow -> shadow.refund(part))
                .onErrorComplete());
    }

    /** Charges the key under the policy it has now: how many could not be charged. Never fails. */
    Mono<Long> charge(String key, long permits) {
        return tracked(policies.findOrLast(key)
                .flatMap(policy -> chargeUnder(key, policy, permits))
                .onErrorResume(lost -> {
                    recorder.counted(Event.CHARGE_LOST, permits);
                    return Mono.just(permits);
                }));
    }

    private Mono<Long> chargeUnder(String key, PolicyLookup.KeyPolicy found, long permits) {
        RateLimitPolicy policy = found.policy();
        long debt = maxDebt.orElse(policy.capacity());
        Mono<Long> charged = policy.settles()
                ? listeners.alongside(
                        state.charge(key, found.override(), permits, debt), shadow -> shadow.charge(key, permits, debt))
                : Mono.just(permits);
        return charged.doOnNext(uncharged -> {
            if (uncharged > 0) {
                recorder.counted(Event.UNCHARGED, uncharged);
            }
        });
    }

    /** Once begun it goes on to its end, also if whoever wanted to know leaves. */
    private <T> Mono<T> tracked(Mono<T> call) {
        return Mono.defer(() -> {
            underWay.incrementAndGet();
            Mono<T> counted = call.doFinally(end -> {
                if (underWay.decrementAndGet() == 0) {
                    tell();
                }
            });
            return Mono.fromFuture(counted.toFuture(), true);
        });
    }

    /** When nothing is under way. */
    Mono<Void> ended() {
        return Mono.defer(() -> {
            Sinks.Empty<Void> sink = Sinks.empty();
            Sinks.Empty<Void> first = awaited.compareAndExchange(null, sink);
            if (underWay.get() == 0) {
                tell();
            }
            return (first == null ? sink : first).asMono();
        });
    }

    private void tell() {
        Sinks.Empty<Void> sink = awaited.getAndSet(null);
        if (sink != null) {
            sink.tryEmitEmpty();
        }
    }
}
