package io.github.reactorratelimit;

import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * A reservation until it is settled. One word says how many permits were charged or are about to be, and whoever moves it
 * owns the difference: so each permit is charged or given back by one of them, once. {@link #SETTLED} is its last value.
 */
final class OpenReservation implements Reservation {

    private static final long SETTLED = -1;

    private final Settling settling;
    private final String key;
    private final RateLimitPolicy policy;
    private final Decision decision;
    private final AtomicLong charged;
    private final AtomicLong uncharged = new AtomicLong();

    /** What the first call said; written once by whoever settles. */
    private volatile @Nullable Long settledBy;

    /** @param policy the policy the key had when it was asked for */
    OpenReservation(Settling settling, String key, RateLimitPolicy policy, Decision decision) {
        this.settling = settling;
        this.key = key;
        this.policy = policy;
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
            long before = charged.getAndUpdate(seen -> seen == SETTLED ? SETTLED : Math.max(seen, soFar));
            return before == SETTLED || soFar <= before ? Mono.empty() : charge(soFar - before);
        });
    }

    @Override
    public Mono<Settlement> settle(long actual) {
        Checks.notNegative("actual", actual);
        return Mono.defer(() -> {
            long before = charged.getAndSet(SETTLED);
            if (before == SETTLED) {
                return Mono.fromSupplier(() -> settlement(actual, true));
            }
            long spent = before > estimate() ? Math.max(actual, before) : actual;
            settledBy = spent;
            settling.recorder().settled(estimate(), spent);
            Debit debit = decision.debit().filter(Debit::claim).orElse(null);
            return correct(debit, before, spent).then(Mono.fromSupplier(() -> settlement(spent, false)));
        });
    }

    /** @param debit null if nothing was taken from the store, or all was given back */
    private Mono<Void> correct(@Nullable Debit debit, long before, long spent) {
        if (spent > before) {
            return charge(spent - before);
        }
        return spent == before || debit == null ? Mono.empty() : settling.giveBack(debit, before - spent);
    }

    private Mono<Void> charge(long permits) {
        return settling.charge(key, policy, permits)
                .doOnNext(uncharged::addAndGet)
                .then();
    }

    private Settlement settlement(long said, boolean repeated) {
        Long first = settledBy;
        return new Settlement(estimate(), first == null ? said : first, uncharged.get(), repeated);
    }

    @Override
    public String toString() {
        return "Reservation of " + estimate() + (charged.get() == SETTLED ? ", settled" : "");
    }
}
