package io.github.reactorratelimit.local;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.algorithm.LongAlgorithm;
import io.github.reactorratelimit.algorithm.Projection;
import io.github.reactorratelimit.algorithm.Reading;
import io.github.reactorratelimit.algorithm.Spending;
import java.lang.invoke.VarHandle;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A bounded table of rates whose states are longs in an array. It keeps the promises of {@link
 * BoundedKeyTable} by the same rules: a key dies by one CAS on the word that debits change, it enters by
 * a mark that everyone can replace by the state of its overflow cell, who debits an overflow cell looks
 * the key up once more, refunds go to the key's own state or nowhere, and a reset kills the state after
 * its time was recorded. What differs is where the words are.
 *
 * <p><b>Levels.</b> Slots are in a {@link Level}: arrays in which a slot belongs to one key for good. So a
 * CAS of a thread that was held up hits the key it was meant for or, if the slot is final, nothing. Slots
 * are used up, also by keys that come back after they were forgotten. When a level is crowded, a new one
 * of a size that fits is put behind it, new keys go there, and the {@link Mover} moves the rest, until
 * the old one can be dropped. Keys are looked up from the oldest level to the newest.
 *
 * <p><b>A key is alive in one level at most.</b> In each level a key's slots are tried in one order, and
 * it may only take the first that is available; none becomes available again. Who wants to take a slot
 * reads that it is available, then that there is no later level, and takes it by CAS. Who sees a later
 * level seals the first available slot by CAS, before it takes one there. So of two threads, one of which
 * has not seen the new level, one loses the CAS and finds the key, or that it must follow. Who leaves a
 * level has seen that all the key's slots there are final and that there will be no others; this does not
 * change any more. By induction over the levels, a key that takes a slot is alive in no older one.
 *
 * <p><b>Moving.</b> One thread at a time is the mover. It takes a slot in a later level by the same rules,
 * but as a shadow: with a hash that nobody looks for. It writes the state there, and then swaps it in the
 * old slot for the mark MOVED. If that CAS fails, it writes the new state to the shadow and tries again; if
 * it succeeds, the shadow holds the state as of that very moment, and nobody can have touched it. Then it
 * is shown: by the mover, or by whoever finds MOVED before that. There is no moment at which the state is
 * nowhere, and nobody waits for the mover.
 *
 * <p><b>Whose shadow may be shown.</b> A reset may kill the old slot while a shadow is being made, and that
 * shadow must never be seen: its mark is DEAD. A key's lives follow each other in the order in which they
 * are looked up, and a shadow is made of the last. Whoever left a level with all its slots for the key
 * final has seen that last life, or it was forgotten, which only the mover's own thread does, with no
 * shadow under way. So if the last mark seen is MOVED, a shadow of the key further on holds its state; if
 * it is DEAD, or if the key could still enter the level in between, it does not and is passed over. The
 * mover clears a shadow that it does not use before it makes another.
 *
 * <p><b>The bound</b> counts keys, not slots: a place is reserved before a slot is taken, goes along when a
 * state moves, and is released by who forgets the key. A reset holds the place of the slot it killed and uses
 * it for the fresh one. There are at most two slots and some for each key of the bound, twice that while
 * states are moved.
 */
final class LongKeyTable extends KeyTable {

    private final LongWord.Shared shared;
    private final LongAlgorithm steps;
    private final SlotSteps slots;
    private final Forgetting forgetting;
    private final Places places;
    private final Levels levels;
    private final Sweeper sweeper;
    private final Mover mover;
    private final OverflowCells overflow;
    private final ResetTimes resets = new ResetTimes();

    private volatile @Nullable CarriedSpend carried;
    private volatile boolean frozen;

    LongKeyTable(LongWord.Shared shared, int maxKeys, int overflowCells, @Nullable CarriedSpend carried) {
        this.carried = carried;
        this.shared = shared;
        this.steps = shared.steps();
        this.slots = new SlotSteps(shared);
        this.forgetting = shared.forgetting();
        this.places = new Places(Math.min(maxKeys, Level.MAX_SLOTS / 3));
        this.levels = new Levels(shared, places);
        AtomicBoolean busy = new AtomicBoolean();
        LevelHand hand = new LevelHand(shared, levels, places);
        this.sweeper = new Sweeper(hand, busy);
        this.mover = new Mover(shared, levels, places, hand, this::begin, busy);
        this.overflow = new OverflowCells(LongCell.fresh(shared), maxKeys, overflowCells);
    }

    @Override
    long tryDebit(String key, long at, long permits) {
        int hash = levels.hash(key);
        Level level = levels.oldest();
        int slot = level.find(key, hash);
        long waitTicks = slot < 0 ? Cell.GONE : slots.tryDebit(level, slot, at, permits);
        return waitTicks == Cell.GONE ? debitAnywhere(key, hash, at, permits) : waitTicks;
    }

    @Override
    boolean tryTake(String key, long at, long permits) {
        Level level = levels.oldest();
        int slot = level.find(key, levels.hash(key));
        long outcome = slot < 0 ? Cell.GONE : slots.tryTake(level, slot, at, permits);
        return outcome >= 0 ? outcome == 0 : tryDebit(key, at, permits) == 0;
    }

    @Override
    @Nullable
    Decision takeOrDeny(String key, long at, long permits) {
        Level level = levels.oldest();
        int slot = level.find(key, levels.hash(key));
        if (slot >= 0) {
            long seen = level.state(slot);
            long next = slots.next(seen, at, permits);
            if (next == LongAlgorithm.RESERVED) {
                return slots.denial(seen, at, permits);
            }
            if (!LongWord.isMark(next) && level.swap(slot, seen, next)) {
                return null;
            }
        }
        return super.takeOrDeny(key, at, permits);
    }

    /** Allocates nothing either if the key is in the table, so that states on the move cost no garbage. */
    private long debitAnywhere(String key, int hash, long at, long permits) {
        if (!frozen) {
            mover.move(at);
        }
        boolean left = false;
        for (Level level = levels.oldest(); level != null; level = level.next()) {
            int found = level.locate(key, hash, left);
            long waitTicks = found < 0 ? Cell.GONE : slots.tryDebit(level, found, at, permits);
            if (waitTicks != Cell.GONE) {
                return waitTicks;
            }
            left = Levels.hasLeft(left, found);
        }
        return debit(key, at, permits).waitTicks();
    }

    @Override
    Reading debit(String key, long at, long permits) {
        int hash = levels.hash(key);
        for (SlotWord own = enter(key, hash, at); own != null; own = enter(key, hash, at)) {
            Reading reading = own.debit(at, permits);
            if (reading != null) {
                return reading;
            }
        }
        return debitOverflow(key, hash, at, permits);
    }

    private Reading debitOverflow(String key, int hash, long at, long permits) {
        long from = forgetting.notBefore(at);
        Reading turnedAway = turnedAway(key, from);
        if (turnedAway != null) {
            return Cell.since(at, from, turnedAway);
        }
        Reading reading = Objects.requireNonNull(overflow.get(key).debit(from, permits), "overflow cells never die");
        if (reading.allowed()) {
            VarHandle.fullFence();
            for (SlotWord own = own(key, hash); own != null; own = own(key, hash)) {
                Reading ownReading = own.debit(at, permits);
                if (ownReading != null) {
                    return ownReading;
                }
            }
        } else {
            overflow.denied();
        }
        return Cell.since(at, from, reading);
    }

    @Override
    long overdraw(String key, long now, long permits, long maxDebt) {
        int hash = levels.hash(key);
        for (SlotWord own = enter(key, hash, now); own != null; own = enter(key, hash, now)) {
            long left = own.overdraw(now, permits, maxDebt);
            if (left != Cell.GONE) {
                return left;
            }
        }
        long left = overflow.get(key).overdraw(forgetting.notBefore(now), permits, maxDebt);
        VarHandle.fullFence();
        for (SlotWord own = own(key, hash); own != null; own = own(key, hash)) {
            long ownLeft = own.overdraw(now, permits, maxDebt);
            if (ownLeft != Cell.GONE) {
                return ownLeft;
            }
        }
        return left;
    }

    @Override
    List<Spending> spendAll(String key, long now) {
        int hash = levels.hash(key);
        for (SlotWord own = enter(key, hash, now); own != null; own = enter(key, hash, now)) {
            List<Spending> before = own.spendAll(now);
            if (before != null) {
                return before;
            }
        }
        return Objects.requireNonNull(
                overflow.get(key).spendAll(forgetting.notBefore(now)), "overflow cells never die");
    }

    @Override
    void refund(String key, LongSupplier clock, long debitedAt, long permits) {
        int hash = levels.hash(key);
        for (SlotWord own = levels.find(key, hash); own != null; own = levels.find(key, hash)) {
            if (resets.isBeforeReset(key, debitedAt)) {
                return;
            }
            boolean done = own.tryRefund(clock, debitedAt, permits);
            sweeper.wake();
            if (done || own.state() != Level.MOVED) {
                return;
            }
        }
    }

    @Override
    void reset(String key, LongSupplier clock) {
        int hash = levels.hash(key);
        long now = clock.getAsLong();
        for (SlotWord own = ownToReset(key, hash, now); own != null; own = ownToReset(key, hash, now)) {
            resets.record(key, now);
            if (own.kill()) {
                // Debits since the first reading died too.
                resets.record(key, clock.getAsLong());
                beginAfresh(key, hash);
                sweeper.wake();
                return;
            }
        }
    }

    /** Others may come first and begin with the state of the overflow cell: then it is stricter. */
    private void beginAfresh(String key, int hash) {
        SlotWord taken = levels.take(key, hash);
        if (taken == null || !taken.taken) {
            places.release();
        } else {
            taken.begin(shared.fresh());
        }
    }

    private @Nullable SlotWord ownToReset(String key, int hash, long now) {
        CarriedSpend left = carried;
        if (left != null) {
            left.reset(key);
        }
        SlotWord own = own(key, hash);
        return own == null && ancestor(key) != null ? enter(key, hash, now) : own;
    }

    @Override
    Reading read(String key, long now, long permits) {
        LongCell own = snapshot(key);
        if (own != null) {
            return own.read(now, permits);
        }
        long from = forgetting.notBefore(now);
        Reading turnedAway = places.hasRoom() ? null : turnedAway(key, from);
        return Cell.since(
                now, from, turnedAway == null ? shared.boxed().read(inherited(key), from, permits) : turnedAway);
    }

    @Override
    long waitTicks(String key, long at, long permits) {
        LongCell own = snapshot(key);
        if (own != null) {
            return own.waitTicks(at, permits);
        }
        long from = forgetting.notBefore(at);
        Reading turnedAway = places.hasRoom() ? null : turnedAway(key, from);
        return Cell.since(
                at, from, turnedAway == null ? steps.waitTicks(inherited(key), from, permits) : turnedAway.waitTicks());
    }

    @Override
    Projection<?> projection(String key, long now) {
        LongCell own = snapshot(key);
        return own != null
                ? own.projection(now)
                : Projection.of(shared.boxed(), inherited(key), forgetting.notBefore(now));
    }

    /** A copy of the key's state, null if it has none; a state on the move is not taken for a fresh one. */
    private @Nullable LongCell snapshot(String key) {
        int hash = levels.hash(key);
        for (SlotWord own = own(key, hash); own != null; own = own(key, hash)) {
            long seen = own.state();
            if (!LongWord.isMark(seen)) {
                return new LongCell(shared, seen);
            }
        }
        return null;
    }

    @Override
    int size() {
        return places.taken();
    }

    Levels levels() {
        return levels;
    }

    /** The key's state, null if it has none; begins one that others have taken a slot for. */
    private @Nullable SlotWord own(String key, int hash) {
        SlotWord own = levels.find(key, hash);
        if (own != null && own.isEntering()) {
            begin(key, own);
        }
        return own;
    }

    /** The key's state, made if there is none; null if there is no room. */
    private @Nullable SlotWord enter(String key, int hash, long now) {
        CarriedSpend left = carried;
        if (left != null && left.isOver(now)) {
            carried = null;
        }
        boolean swept = false;
        for (; ; ) {
            SlotWord own = own(key, hash);
            if (own != null) {
                return own;
            }
            if (places.reserve()) {
                SlotWord taken = levels.take(key, hash);
                if (taken == null || !taken.taken) {
                    places.release();
                }
                if (taken == null) {
                    return null;
                }
                if (!frozen) {
                    mover.move(now);
                }
            } else if (swept || frozen) {
                return null;
            } else {
                sweeper.sweep(now);
                swept = true;
            }
        }
    }

    private void begin(String key, SlotWord entering) {
        VarHandle.fullFence();
        entering.begin(inherited(key));
    }

    /** What a key without a state starts from. */
    private long inherited(String key) {
        LongWord shared = ancestor(key);
        long begun = shared == null ? this.shared.fresh() : shared.aliveOrFresh();
        return carried == null ? begun : owing(begun, key);
    }

    /** The denial of a key that finds no room until it has recovered what it inherits; null if there is nothing left of that. */
    private @Nullable Reading turnedAway(String key, long from) {
        if (carried == null) {
            return null;
        }
        long owed = owing(shared.fresh(), key);
        return steps.resetTicks(owed, from) == 0 ? null : shared.boxed().read(owed, from, steps.limit());
    }

    private long owing(long state, String key) {
        CarriedSpend left = carried;
        return left == null ? state : shared.owing(state, left.asOf, left.spent(key));
    }

    @Override
    public List<Spending> spent(String key, long at) {
        LongCell own = snapshot(key);
        return (own == null ? new LongCell(shared, inherited(key)) : own).spent(at);
    }

    @Override
    @Nullable
    CarriedSpend carried() {
        return carried;
    }

    @Override
    public Iterator<String> keys() {
        return levels.keys();
    }

    @Override
    public boolean knowsAllKeys() {
        return !overflow.areUsed() && carried == null;
    }

    @Override
    boolean adopt(String key, long now) {
        return enter(key, levels.hash(key), now) != null;
    }

    @Override
    void carriedOver(CarriedSpend done) {
        if (carried == done) {
            carried = null;
        }
    }

    @Override
    void freeze(long now) {
        frozen = true;
        CarriedSpend left = carried;
        carried = left == null || left.isOver(now) ? null : left.asFullySpent();
    }

    /**
     * The overflow cell whose state a key without one starts from, null if it starts fresh. One that is
     * refilled by the horizon counts as fresh, so that the key's debits are held to the horizon.
     */
    private @Nullable LongWord ancestor(String key) {
        return overflow.peek(key) instanceof LongWord cell && !cell.isRefilled(forgetting.horizon()) ? cell : null;
    }
}
