package io.github.reactorratelimit.local;

import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.algorithm.Projection;
import io.github.reactorratelimit.algorithm.Reading;
import io.github.reactorratelimit.algorithm.Spending;
import java.util.List;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The state of one key, or of all keys that share an overflow cell. A table's cell lives until it is
 * {@linkplain #forget forgotten}; dead cells never change and never revive.
 *
 * <p>A cell whose state is fresh may stand for a key that was forgotten: it counts debits as made no
 * earlier than the last forgetting, and answers accordingly. So does one that started with the state of
 * an overflow cell, as of the last forgetting before.
 */
abstract class Cell extends Slot {

    /** No answer: the cell is dead and the key must be looked up again. Waits are never negative. */
    static final long GONE = -1;

    /** See {@link KeyTable#tryDebit}; {@link #GONE} if dead. */
    abstract long tryDebit(long at, long permits);

    /** See {@link KeyTable#debit}; null if dead. */
    abstract @Nullable Reading debit(long at, long permits);

    /** See {@link KeyTable#overdraw}; {@link #GONE} if dead. */
    abstract long overdraw(long at, long permits, long maxDebt);

    /** See {@link KeyTable#spendAll}; null if dead. */
    abstract @Nullable List<Spending> spendAll(long now);

    /** See {@link KeyTable#refund}; of no effect if dead. */
    abstract void refund(LongSupplier clock, long debitedAt, long permits);

    /** Kills the cell whatever its state; false if it is dead already. */
    abstract boolean kill();

    /** See {@link KeyTable#read}; a dead cell reads as fresh, which is what it was. */
    abstract Reading read(long now, long permits);

    /** See {@link KeyTable#waitTicks}; a dead cell reads as fresh. */
    abstract long waitTicks(long at, long permits);

    /** See {@link KeyTable#projection}; a dead cell reads as fresh. */
    abstract Projection<?> projection(long now);

    /** See {@link KeyTable#spent}; a dead cell reads as fresh. */
    abstract List<Spending> spent(long at);

    /** Another cell with the state that this one has now and what was spent elsewhere at {@code at}. */
    abstract Cell owing(long at, List<Spending> spent);

    /** See {@link KeyTable#changeTo}, for all cells that this one is the pattern of. */
    boolean changeTo(RateLimitPolicy policy) {
        return false;
    }

    abstract boolean isDead();

    /** Whether nothing is spent any more as of {@code at}. */
    abstract boolean isRefilled(long at);

    /**
     * Kills the cell if forgetting its state changes no decision.
     *
     * @return 0 if the cell is dead, else the ticks until it may be worth trying again, {@link
     *     Algorithm#UNKNOWN} if nobody can know
     */
    abstract long forget(long now);

    /** A new cell with the state this one has now. */
    abstract Cell copy();

    /** A cell like this one that several keys can share. */
    Cell shared() {
        return this;
    }

    /** A wait as of {@code from} told as of the earlier time {@code at}; none stays none. */
    static long since(long at, long from, long waitTicks) {
        long shift = waitTicks == 0 ? 0 : from - at;
        return waitTicks > Algorithm.UNKNOWN - shift ? Algorithm.UNKNOWN : waitTicks + shift;
    }

    /** A reading as of {@code from} told as of the earlier time {@code at}. */
    static Reading since(long at, long from, Reading reading) {
        if (at == from) {
            return reading;
        }
        return new Reading(
                reading.policy(),
                reading.limit(),
                reading.remaining(),
                since(at, from, reading.waitTicks()),
                since(at, from, reading.resetTicks()),
                since(at, from, reading.moreTicks()));
    }
}
