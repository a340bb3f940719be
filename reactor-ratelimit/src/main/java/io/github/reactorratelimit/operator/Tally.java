package io.github.reactorratelimit.operator;

import io.github.reactorratelimit.Reservation;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Counts one subscription and settles its reservation.
 *
 * <p>Elements come one after the other, the end may come from another thread. One word holds the count, and its last value is
 * {@link #SETTLED}: whoever puts that there takes the count, and settles by it. An element is counted before it is passed on, by
 * a step on the same word. So each is counted and passed on, or neither, and what was passed on is what is settled.
 *
 * <p>What exceeds the reservation is charged while the stream goes on, behind what was counted, a step at a time. At most one
 * charge is under way; whoever ends one looks whether the next is due. The reservation itself sees to it that nothing is charged
 * twice, whatever is under way when it is settled.
 */
final class Tally<T> {

    private static final long SETTLED = -1;

    private final Reservation reservation;
    private final Account<T> account;
    private final long step;
    private final AtomicLong counted = new AtomicLong();
    private final AtomicBoolean charging = new AtomicBoolean();

    /** Written by whoever is charging. */
    private volatile long charged;

    /** Of the thread that adds; the end that comes from another may miss the last. */
    private volatile long elements;

    Tally(Reservation reservation, Account<T> account) {
        this.reservation = reservation;
        this.account = account;
        this.charged = reservation.estimate();
        this.step = account.step(charged);
    }

    /** False if it was settled before, and the element is not counted. */
    boolean add(T element) {
        long cost = account.costOf(element);
        long before = counted.getAndUpdate(seen -> seen == SETTLED ? SETTLED : plus(seen, cost));
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

    private static long plus(long count, long cost) {
        return cost > Long.MAX_VALUE - count ? Long.MAX_VALUE : count + cost;
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

    /**
     * Settles, once.
     *
     * @return what the function threw that says how much, null if nothing; then all that was reserved stays spent
     */
    @Nullable
    Throwable settle(Outcome.Kind kind, @Nullable T value, @Nullable Throwable error) {
        long count = counted.getAndSet(SETTLED);
        if (count == SETTLED) {
            return null;
        }
        long reserved = reservation.estimate();
        Throwable failure = null;
        long actual = reserved;
        try {
            actual = account.actual(count, new Outcome<>(kind, value, error, elements, reserved));
        } catch (Throwable thrown) {
            failure = thrown;
        }
        reservation.settle(actual).subscribe();
        return failure;
    }

    /** The source was never subscribed. */
    void unused() {
        counted.set(SETTLED);
        reservation.settle(0).subscribe();
    }
}
