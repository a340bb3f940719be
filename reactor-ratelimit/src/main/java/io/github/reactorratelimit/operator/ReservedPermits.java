package io.github.reactorratelimit.operator;

import io.github.reactorratelimit.Reservation;
import io.github.reactorratelimit.Saturated;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Reserved permits: counts what one subscription spends and settles its reservation.
 *
 * <p>Elements come one after the other; the end may come from another thread. One word holds the count, and
 * its last value is {@link #SETTLED}: the thread that puts it there takes the count, and settles by it. An
 * element is counted before it is passed on, by a step on the same word. So each element is counted and
 * passed on, or neither, and what was passed on is settled.
 *
 * <p>Permits beyond the reservation are charged while the stream goes on, a step at a time. At most one
 * charge is in flight; the thread that ends one checks whether the next is due. The reservation itself
 * charges nothing twice, whatever is in flight when it is settled.
 */
final class ReservedPermits<T> implements GatePermits<T> {

    private static final long SETTLED = -1;

    private final Reservation reservation;
    private final ChargeRule<T> charge;
    private final boolean single;

    /** Permits beyond the estimate that may be spent and not yet charged. */
    private final long step;

    private final AtomicLong counted = new AtomicLong();
    private final AtomicBoolean charging = new AtomicBoolean();

    /** Written by the thread that charges. */
    private volatile long charged;

    /** Of the thread that adds; the end that comes from another may miss the last. */
    private volatile long elements;

    /** @param single whether a value ends the subscription */
    ReservedPermits(Reservation reservation, ChargeRule<T> charge, boolean single) {
        this.reservation = reservation;
        this.single = single;
        this.charge = charge;
        this.charged = reservation.estimate();
        this.step = Math.max(1, charged / 4);
    }

    @Override
    public boolean endsWithValue() {
        return single;
    }

    @Override
    public boolean count(T element) {
        long cost = charge.costOf(element);
        long before = counted.getAndUpdate(seen -> seen == SETTLED ? SETTLED : Saturated.plus(seen, cost));
        if (before == SETTLED) {
            return false;
        }
        noteElement();
        chargeOn();
        return true;
    }

    private void noteElement() {
        long before = elements;
        elements = before + 1;
    }

    private void chargeOn() {
        while (isDue() && charging.compareAndSet(false, true)) {
            long soFar = counted.get();
            if (soFar == SETTLED) {
                return;
            }
            charged = Math.max(charged, soFar);
            AtomicBoolean returned = new AtomicBoolean();
            reservation.accrue(soFar).subscribe(none -> {}, failed -> {}, () -> {
                charging.set(false);
                if (!returned.compareAndSet(false, true)) {
                    chargeOn();
                }
            });
            if (returned.compareAndSet(false, true)) {
                return;
            }
        }
    }

    private boolean isDue() {
        return counted.get() - charged >= step;
    }

    /** If the function that says how much fails, all that was reserved stays spent. */
    @Override
    public @Nullable Throwable end(Outcome.Kind kind, @Nullable T value, @Nullable Throwable error) {
        long count = counted.getAndSet(SETTLED);
        if (count == SETTLED) {
            return null;
        }
        long reserved = reservation.estimate();
        Throwable failure = null;
        long actual = reserved;
        try {
            actual = charge.actual(
                    count,
                    new Outcome<>(kind, Optional.ofNullable(value), Optional.ofNullable(error), elements, reserved));
        } catch (Throwable thrown) {
            failure = thrown;
        }
        reservation.settle(actual).subscribe();
        return failure;
    }

    @Override
    public void refund() {
        counted.set(SETTLED);
        reservation.settle(0).subscribe();
    }
}
