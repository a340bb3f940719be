package io.github.reactorratelimit;

import io.github.reactorratelimit.RateLimitRecorder.Event;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * Settles the reservations of one limiter: charges and refunds at its state, counts what was lost, and knows
 * what is pending.
 *
 * @param maxDebt permits that a key may owe; its policy's capacity if it is empty
 * @param pending the calls that have not ended
 */
record Settling(
        LimiterState state,
        DecisionListeners listeners,
        PolicyLookup policies,
        OptionalLong maxDebt,
        Map<Object, CompletableFuture<?>> pending) {

    static void requireSettles(RateLimitPolicy policy) {
        if (!policy.settles()) {
            throw new IllegalStateException(
                    "reservations of " + policy + " cannot be settled: slots of a LeakyBucket pass by,"
                            + " and permits of a ConcurrencyLimit are not spent; reserve from a token bucket, a GCRA or a window");
        }
    }

    Reservation open(String key, Decision decision) {
        listeners.recorder().counted(Event.RESERVED, decision.permits());
        return new OpenReservation(key, decision);
    }

    /**
     * Gives back a part of a claimed debit, or all of it. Never fails: the state counts what it could not
     * give back.
     */
    private Mono<Void> giveBack(Debit debit, long permits) {
        return tracked(Mono.defer(() -> {
                    Debit part = debit.part(permits);
                    part.refunded();
                    return state.refund(part);
                })
                .onErrorComplete());
    }

    /**
     * Charges the key under the policy that it has now: how many permits could not be charged. Never fails.
     */
    private Mono<Long> charge(String key, long permits) {
        return tracked(policies.findOrLast(key)
                .flatMap(policy -> chargeUnder(key, policy, permits))
                .onErrorResume(lost -> {
                    listeners.recorder().counted(Event.CHARGE_LOST, permits);
                    return Mono.just(permits);
                }));
    }

    private Mono<Long> chargeUnder(String key, PolicyLookup.KeyPolicy found, long permits) {
        long debt = maxDebt.orElse(found.capacity());
        Mono<Long> charged = Mono.just(permits);
        if (found.policy().settles()) {
            listeners.charged(key, permits, debt);
            charged = state.charge(key, found.override(), permits, debt);
        }
        return charged.doOnNext(uncharged -> {
            if (uncharged > 0) {
                listeners.recorder().counted(Event.UNCHARGED, uncharged);
            }
        });
    }

    /** Once begun it continues to its end, also if the subscriber cancels. */
    private <T> Mono<T> tracked(Mono<T> call) {
        return Mono.defer(() -> {
            Object id = new Object();
            CompletableFuture<T> settled = call.toFuture();
            pending.put(id, settled);
            return Mono.fromFuture(settled.whenComplete((done, failed) -> pending.remove(id)), true);
        });
    }

    /** Completes when everything that is pending now has ended. */
    Mono<Void> ended() {
        return Mono.fromFuture(
                () -> CompletableFuture.allOf(pending.values().toArray(new CompletableFuture<?>[0])), true);
    }

    /**
     * A reservation until it is settled. One word says how many permits were charged or are about to be. The
     * thread that moves it owns the difference, so each permit is charged or refunded once. Its last value is
     * below 0, and says how many permits it was settled by.
     */
    private final class OpenReservation implements Reservation {

        private final String key;
        private final Decision decision;
        private final AtomicLong charged;
        private final AtomicLong uncharged = new AtomicLong();

        OpenReservation(String key, Decision decision) {
            this.key = key;
            this.decision = decision;
            this.charged = new AtomicLong(decision.permits());
        }

        @Override
        public Decision decision() {
            return decision;
        }

        @Override
        public Mono<Void> accrue(long soFar) {
            Checks.notNegative("soFar", soFar);
            return Mono.defer(() -> {
                long before = charged.getAndUpdate(seen -> isSettled(seen) ? seen : Math.max(seen, soFar));
                return isSettled(before) || soFar <= before ? Mono.empty() : charge(soFar - before);
            });
        }

        @Override
        public Mono<Settlement> settle(long actual) {
            Checks.notNegative("actual", actual);
            return Mono.defer(() -> {
                long before = charged.getAndUpdate(seen -> isSettled(seen) ? seen : settledBy(spent(seen, actual)));
                if (isSettled(before)) {
                    return Mono.fromSupplier(() -> settlement(settledBy(before), true));
                }
                long spent = spent(before, actual);
                listeners.recorder().counted(Event.SETTLED, spent);
                Debit debit = decision.debit().filter(Debit::claim).orElse(null);
                return correct(debit, before, spent).then(Mono.fromSupplier(() -> settlement(spent, false)));
            });
        }

        private static boolean isSettled(long word) {
            return word < 0;
        }

        /** The word of a number and the number of a word. */
        private static long settledBy(long permits) {
            return -1 - permits;
        }

        /** What has accrued beyond the estimate is spent. */
        private long spent(long before, long actual) {
            return before > estimate() ? Math.max(actual, before) : actual;
        }

        /** @param debit null if nothing was taken from the store, or everything was refunded */
        private Mono<Void> correct(@Nullable Debit debit, long before, long spent) {
            if (spent > before) {
                return charge(spent - before);
            }
            return spent == before || debit == null ? Mono.empty() : giveBack(debit, before - spent);
        }

        private Mono<Void> charge(long permits) {
            return Settling.this
                    .charge(key, permits)
                    .doOnNext(uncharged::addAndGet)
                    .then();
        }

        private Settlement settlement(long spent, boolean repeated) {
            return new Settlement(estimate(), spent, uncharged.get(), repeated);
        }

        @Override
        public String toString() {
            return "Reservation of " + estimate() + (isSettled(charged.get()) ? ", settled" : "");
        }
    }
}
