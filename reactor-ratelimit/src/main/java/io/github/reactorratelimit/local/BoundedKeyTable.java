package io.github.reactorratelimit.local;

import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Projection;
import io.github.reactorratelimit.algorithm.Reading;
import io.github.reactorratelimit.algorithm.Spending;
import io.github.reactorratelimit.local.Slot.Entering;
import java.lang.invoke.VarHandle;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A bounded table of keys, and how it stays exact when keys come and go.
 *
 * <p><b>Where a key's state is.</b> A key in the table has a {@link Cell} of its own. When the table is
 * full and the {@link Sweeper} finds nothing to forget, a new key is served by one of the {@link
 * OverflowCells}, shared with others. The promise is that no key is ever allowed more than its policy
 * alone would: every cell it meets holds at least what the key spent and still counts. Debits of
 * others on a shared cell only make it stricter. (Where the policy's phase is set by the first request,
 * that of a shared cell may be another than the key's own would be: there the promise is the policy's
 * worst case. {@link Forgetting} keeps it.)
 *
 * <p><b>Leaving.</b> A cell is killed by one CAS from a refilled state to the dead mark, and only then
 * removed. A debit is one CAS on the same word: either it comes first, and the kill fails, or it finds
 * the cell dead and looks the key up again. What is forgotten answers like a fresh state from the time
 * of forgetting on; {@link Forgetting} deals with threads whose clock reading is older. Whoever finds a
 * dead cell may take its place for the key, so nobody waits for the thread that killed it.
 *
 * <p><b>Entering.</b> A key that was served by an overflow cell must not leave its debits behind: its
 * new cell starts with the overflow cell's state. But another thread may debit the overflow cell at
 * the same time. Therefore
 *
 * <ol>
 *   <li>who enters a key first publishes {@link Entering}, then reads the overflow cell, then replaces
 *       Entering by a cell with that state; whoever meets Entering does the same, the first one wins;
 *   <li>who debits an overflow cell then looks the key up again, and if it is in the table by now, asks
 *       the table's cell too and returns that answer. The debit on the overflow cell stays.
 * </ol>
 *
 * <p>Each writes first and reads the other's word then, with a full fence between. So either the one who
 * enters sees the debit, or the one who debits sees Entering, or both: no debit is missed. One may count
 * twice, which is stricter.
 *
 * <p><b>Giving back.</b> Refunds of a rate go to the key's own cell or nowhere. If the debit was made
 * there, that is right. If it was made on the overflow cell, the own cell has inherited it, or the
 * overflow cell was refilled; if it was made on an earlier cell that was forgotten, its effect was gone
 * by then. In the last two cases the algorithm gives nothing back, as of the horizon of forgetting.
 *
 * <p><b>Concurrency limits</b> neither refill nor may lose a refund, and a permit must go back to where
 * it was taken. So a key enters only while nothing is in flight on its overflow cell (Entering is
 * removed instead of replaced otherwise), and who debits the overflow cell and then finds the key in
 * the table takes that debit back. A cell with permits in flight is never refilled, hence never
 * forgotten. By the same two steps as above all granted permits of a key are in one place: in its own
 * cell if it has one, else in its overflow cell. That is where a refund goes.
 *
 * <p><b>Reset</b> kills the cell, and puts a fresh one in its place. Refunds that found the old cell are
 * of no effect, those that find the new one are compared with the time of the reset, which is recorded
 * before the kill.
 */
final class BoundedKeyTable extends KeyTable {

    /** Never debited: what a key that nobody has seen starts from. */
    private final Cell pristine;

    /** Whether permits come back by refund only. */
    private final boolean inFlight;

    private final Forgetting forgetting;
    private final BoundedSlots slots;
    private final Sweeper sweeper;
    private final OverflowCells overflow;
    private final ResetTimes resets = new ResetTimes();

    private volatile @Nullable CarriedSpend carried;
    private volatile boolean frozen;

    BoundedKeyTable(
            Cell pristine,
            RateLimitPolicy policy,
            Forgetting forgetting,
            int maxKeys,
            int overflowCells,
            @Nullable CarriedSpend carried) {
        this.carried = carried;
        this.pristine = pristine;
        this.inFlight = policy.needsRelease();
        this.forgetting = forgetting;
        this.slots = new BoundedSlots(maxKeys);
        this.sweeper = new Sweeper(slots.hand(), new AtomicBoolean());
        this.overflow = new OverflowCells(pristine.shared(), maxKeys, overflowCells);
    }

    @Override
    long tryDebit(String key, long at, long permits) {
        if (slots.get(key) instanceof Cell cell) {
            long waitTicks = cell.tryDebit(at, permits);
            if (waitTicks != Cell.GONE) {
                return waitTicks;
            }
        }
        return debit(key, at, permits).waitTicks();
    }

    @Override
    Reading debit(String key, long at, long permits) {
        for (Cell own = enter(key, at); own != null; own = enter(key, at)) {
            Reading reading = own.debit(at, permits);
            if (reading != null) {
                return reading;
            }
        }
        return debitOverflow(key, at, permits);
    }

    private Reading debitOverflow(String key, long at, long permits) {
        Cell shared = overflow.get(key);
        long from = forgetting.notBefore(at);
        Reading turnedAway = turnedAway(key, from);
        if (turnedAway != null) {
            return Cell.since(at, from, turnedAway);
        }
        Reading reading = Objects.requireNonNull(shared.debit(from, permits), "overflow cells never die");
        if (reading.allowed()) {
            VarHandle.fullFence();
            for (Cell own = own(key); own != null; own = own(key)) {
                Reading ownReading = own.debit(at, permits);
                if (ownReading != null) {
                    takeBack(shared, from, permits);
                    return ownReading;
                }
            }
        } else {
            overflow.denied();
        }
        return Cell.since(at, from, reading);
    }

    private void takeBack(Cell shared, long debitedAt, long permits) {
        if (inFlight) {
            shared.refund(() -> debitedAt, debitedAt, permits);
        }
    }

    @Override
    long overdraw(String key, long now, long permits, long maxDebt) {
        if (inFlight) {
            return permits;
        }
        for (Cell own = enter(key, now); own != null; own = enter(key, now)) {
            long left = own.overdraw(now, permits, maxDebt);
            if (left != Cell.GONE) {
                return left;
            }
        }
        long left = overflow.get(key).overdraw(forgetting.notBefore(now), permits, maxDebt);
        VarHandle.fullFence();
        for (Cell own = own(key); own != null; own = own(key)) {
            long ownLeft = own.overdraw(now, permits, maxDebt);
            if (ownLeft != Cell.GONE) {
                return ownLeft;
            }
        }
        return left;
    }

    @Override
    List<Spending> spendAll(String key, long now) {
        for (Cell own = enter(key, now); own != null; own = enter(key, now)) {
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
        Cell own = slots.get(key) instanceof Cell cell && !cell.isDead() ? cell : null;
        if (inFlight) {
            Cell holder = own == null ? overflow.peek(key) : own;
            if (holder != null) {
                holder.refund(clock, debitedAt, permits);
            }
        } else if (own != null && !resets.isBeforeReset(key, debitedAt)) {
            own.refund(clock, debitedAt, permits);
            sweeper.wake();
        }
    }

    @Override
    void reset(String key, LongSupplier clock) {
        if (inFlight) {
            return;
        }
        long now = clock.getAsLong();
        for (Cell own = ownToReset(key, now); own != null; own = ownToReset(key, now)) {
            resets.record(key, now);
            if (own.kill()) {
                // Debits since the first reading died too.
                resets.record(key, clock.getAsLong());
                slots.replace(key, own, pristine.copy());
                sweeper.wake();
                return;
            }
        }
    }

    private @Nullable Cell ownToReset(String key, long now) {
        CarriedSpend left = carried;
        if (left != null) {
            left.reset(key);
        }
        Cell own = own(key);
        return own == null && ancestor(key) != pristine ? enter(key, now) : own;
    }

    @Override
    Reading read(String key, long now, long permits) {
        Cell own = own(key);
        if (own != null) {
            return own.read(now, permits);
        }
        long from = forgetting.notBefore(now);
        Reading turnedAway = slots.hasRoom() ? null : turnedAway(key, from);
        return Cell.since(now, from, turnedAway == null ? ancestor(key).read(from, permits) : turnedAway);
    }

    @Override
    long waitTicks(String key, long at, long permits) {
        Cell own = own(key);
        if (own != null) {
            return own.waitTicks(at, permits);
        }
        long from = forgetting.notBefore(at);
        Reading turnedAway = slots.hasRoom() ? null : turnedAway(key, from);
        return Cell.since(
                at, from, turnedAway == null ? ancestor(key).waitTicks(from, permits) : turnedAway.waitTicks());
    }

    @Override
    Projection<?> projection(String key, long now) {
        Cell own = own(key);
        return own != null ? own.projection(now) : ancestor(key).projection(forgetting.notBefore(now));
    }

    @Override
    int size() {
        return slots.size();
    }

    /** The key's cell, null if it has none; finishes an entering that others have begun. */
    private @Nullable Cell own(String key) {
        for (; ; ) {
            Slot slot = slots.get(key);
            if (slot instanceof Entering entering) {
                finish(key, entering);
            } else {
                return slot instanceof Cell cell && !cell.isDead() ? cell : null;
            }
        }
    }

    /** The key's cell, made if there is none; null if the key may not enter or there is no room. */
    private @Nullable Cell enter(String key, long now) {
        CarriedSpend left = carried;
        if (left != null && left.isOver(now)) {
            carried = null;
        }
        boolean swept = false;
        for (; ; ) {
            Slot slot = slots.get(key);
            if (slot instanceof Cell cell && !cell.isDead()) {
                return cell;
            }
            if (slot instanceof Entering entering) {
                finish(key, entering);
            } else if (inFlight && ancestor(key) != pristine) {
                return null;
            } else if (slot != null) {
                slots.replace(key, slot, new Entering());
            } else if (slots.hasRoom()) {
                slots.add(key, new Entering());
            } else if (swept || frozen) {
                return null;
            } else {
                sweeper.sweep(now);
                swept = true;
            }
        }
    }

    private void finish(String key, Entering entering) {
        VarHandle.fullFence();
        Cell ancestor = ancestor(key);
        if (inFlight && ancestor != pristine) {
            slots.remove(key, entering);
        } else {
            slots.replace(key, entering, ancestor.copy());
        }
    }

    /**
     * The cell whose state a key without one starts from. An overflow cell that is refilled by the horizon
     * counts as fresh, so that the key's debits are held to the horizon.
     */
    private Cell ancestor(String key) {
        Cell shared = overflow.peek(key);
        return owing(shared == null || shared.isRefilled(forgetting.horizon()) ? pristine : shared, key);
    }

    /** The denial of a key that finds no room until it has recovered what it inherits; null if there is nothing left of that. */
    private @Nullable Reading turnedAway(String key, long from) {
        Cell owed = owing(pristine, key);
        return owed == pristine || owed.isRefilled(from)
                ? null
                : owed.read(from, owed.read(from, 1).limit());
    }

    /** A cell that owes what the key inherits too. */
    private Cell owing(Cell cell, String key) {
        CarriedSpend left = carried;
        List<Spending> spent = left == null ? List.of() : left.spent(key);
        boolean owes = spent.stream().anyMatch(each -> each.permits() > 0);
        return left == null || !owes ? cell : cell.owing(left.asOf, spent);
    }

    @Override
    boolean changeTo(RateLimitPolicy policy) {
        return pristine.changeTo(policy);
    }

    @Override
    public List<Spending> spent(String key, long at) {
        Cell own = own(key);
        return (own == null ? ancestor(key) : own).spent(at);
    }

    @Override
    @Nullable
    CarriedSpend carried() {
        return carried;
    }

    @Override
    public Iterator<String> keys() {
        return slots.keys();
    }

    @Override
    public boolean knowsAllKeys() {
        return !overflow.areUsed() && carried == null;
    }

    @Override
    boolean adopt(String key, long now) {
        return enter(key, now) != null;
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
}
