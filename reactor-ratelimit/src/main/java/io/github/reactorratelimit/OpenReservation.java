package io.github.reactorratelimit;

import io.github.reactorratelimit.RateLimitRecorder.Event;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * A reservation until it is settled. One word says how many permits were charged or are about to be, and whoever moves it
 * owns the difference: so each permit is charged or given back by one of them, once. Its last value is below 0, and says by what
 * it was settled.
 */
final class OpenReservation implements Reservation {

    private final Settling settling;
    private final String key;
    private final Decision decision;
    private final AtomicLong charged;
    private final AtomicLong uncharged = new AtomicLong();

    OpenReservation(Settling settling, String key, Decision decision) {
        this.settling = settling;
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
            settling.recorder().counted(Event.SETTLED, spent);
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

    /** @param debit null if nothing was taken from the store, or all was given back */
    private Mono<Void> correct(@Nullable Debit debit, long before, long spent) {
        if (spent > before) {
            return charge(spent - before);
        }
        return spent == before || debit == null ? Mono.empty() : settling.giveBack(debit, before - spent);
    }

    private Mono<Void> charge(long permits) {
        return settling.charge(key, permits).doOnNext(uncharged::addAndGet).then();
    }

    private Settlement settlement(long spent, boolean repeated) {
        return new Settlement(estimate(), spent, uncharged.get(), repeated);
    }

    @Override
    public String toString() {
        return "Reservation of " + estimate() + (isSettled(charged.get()) ? ", settled" : "");
    }
}
