package io.github.reactorratelimit.local;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Projection;
import io.github.reactorratelimit.algorithm.Reading;
import io.github.reactorratelimit.algorithm.Spending;
import io.github.reactorratelimit.local.Cell.Outcome;
import java.lang.invoke.VarHandle;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import java.util.function.BiConsumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A table in which at most a bounded number of keys have a {@link Cell} of their own, and how it stays exact when keys come
 * and go.
 *
 * <p><b>Where a key's state is.</b> A key in the table has its own cell, in its {@link Slots}. When the table is full and the
 * {@link Evictor} finds nothing to evict, a new key is served by one of the {@link OverflowCells}, shared with other keys. The
 * promise is that no key is ever allowed more than its policy alone would: every cell it meets holds at least what the key
 * spent and still counts. Debits of other keys on a shared cell only make it stricter. (Where the policy's phase is set by the
 * first request, that of a shared cell may differ from the key's own: there the promise is the policy's worst case. {@link
 * EvictionHorizon} keeps it.)
 *
 * <p><b>Leaving.</b> A cell is killed by one CAS from a refilled state to the dead mark, and only then removed. A debit is one
 * CAS on the same word: either it comes first, and the kill fails, or it finds the cell dead and looks the key up again. An
 * evicted key answers like a fresh one from the time of the eviction on; {@link EvictionHorizon} deals with threads whose clock
 * reading is older. No thread waits for the thread that killed a cell.
 *
 * <p><b>Entering.</b> A key that was served by an overflow cell must not leave its debits behind: its new cell starts with the
 * overflow cell's state. But another thread may debit the overflow cell at the same time. Therefore
 *
 * <ol>
 *   <li>a thread that lets a key enter first publishes a cell without a state, then reads the overflow cell, then begins the
 *       cell with that state; any thread that meets the entering cell does the same, and the first one wins;
 *   <li>a thread that debits an overflow cell then looks the key up again, and if it is in the table by now, debits the key's
 *       own cell too and returns that answer. The debit on the overflow cell stays.
 * </ol>
 *
 * <p>Each writes first and then reads the other's word, with a full fence between. So the entering thread sees the debit, or
 * the debiting thread sees the entering cell, or both: no debit is missed. One may count twice, which is stricter.
 *
 * <p><b>Refunds</b> of a rate go to the key's own cell or nowhere. If the debit was made there, that is right. If it was made on
 * the overflow cell, the own cell has inherited it, or the overflow cell was refilled. If it was made on an earlier cell that
 * was evicted, it had recovered by then. In the last two cases the algorithm gives nothing back, as of the horizon.
 *
 * <p><b>Concurrency limits</b> neither refill nor may lose a refund, and a permit must go back to where it was taken. So a key
 * enters only while nothing is in flight on its overflow cell (it leaves again otherwise), and a thread that debits the
 * overflow cell and then finds the key in the table takes that debit back. A cell with permits in flight is never refilled,
 * hence never evicted. By the same two steps as above all granted permits of a key are in one place: in its own cell if it has
 * one, else in its overflow cell. That is where a refund goes.
 *
 * <p><b>Reset</b> kills the cell, and puts a fresh one in its place. Refunds that found the old cell have no effect, those that
 * find the new one are compared with the time of the reset, which is recorded before the kill.
 *
 * @param <S> the state of a key
 */
final class BoundedKeyTable<S> extends KeyTable {

    private static final String NEVER_DIE = "overflow cells never die";

    /** Never debited: what a key that was never seen starts from. */
    private final ObjectCell<S> pristine;

    /** Whether permits come back by refund only. */
    private final boolean inFlight;

    private final EvictionHorizon horizon;
    private final Slots<S> slots;
    private final Evictor evictor;
    private final OverflowCells<S> overflow;
    private final ResetTimes resets = new ResetTimes();
    private final BiConsumer<String, Cell<S>> beginner = this::begin;

    private volatile @Nullable CarriedSpend carried;
    private volatile boolean frozen;

    /** @param needsRelease whether permits come back by refund only */
    BoundedKeyTable(
            Slots<S> slots,
            ObjectCell<S> pristine,
            boolean needsRelease,
            OverflowCells<S> overflow,
            @Nullable CarriedSpend carried) {
        this.slots = slots;
        this.pristine = pristine;
        this.inFlight = needsRelease;
        this.horizon = pristine.shared.horizon();
        this.evictor = slots.evictor();
        this.overflow = overflow;
        this.carried = carried;
    }

    Slots<S> slots() {
        return slots;
    }

    @Override
    boolean tryTake(String key, long at, long permits) {
        return switch (slots.tryTake(key, at, permits)) {
            case TAKEN -> true;
            case DENIED -> false;
            case GONE -> debit(key, at, permits).allowed();
        };
    }

    @Override
    @Nullable
    Decision takeOrDeny(String key, long at, long permits) {
        Outcome outcome = slots.tryTake(key, at, permits);
        if (outcome == Outcome.TAKEN) {
            return null;
        }
        Decision denial = outcome == Outcome.DENIED ? slots.denial(key, at, permits) : null;
        return denial == null ? super.takeOrDeny(key, at, permits) : denial;
    }

    @Override
    Reading debit(String key, long at, long permits) {
        for (Cell<S> own = enter(key, at); own != null; own = enter(key, at)) {
            Reading reading = own.debit(at, permits);
            if (reading != null) {
                return reading;
            }
        }
        return debitOverflow(key, at, permits);
    }

    private Reading debitOverflow(String key, long at, long permits) {
        long from = horizon.notBefore(at);
        Reading turnedAway = turnedAway(key, from);
        if (turnedAway != null) {
            return Cell.since(at, from, turnedAway);
        }
        Cell<S> shared = overflow.get(key);
        Reading reading = Objects.requireNonNull(shared.debit(from, permits), NEVER_DIE);
        if (reading.allowed()) {
            VarHandle.fullFence();
            for (Cell<S> own = own(key); own != null; own = own(key)) {
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

    private void takeBack(Cell<S> shared, long debitedAt, long permits) {
        if (inFlight) {
            shared.refund(() -> debitedAt, debitedAt, permits);
        }
    }

    @Override
    long overdraw(String key, long now, long permits, long maxDebt) {
        if (inFlight) {
            return permits;
        }
        for (Cell<S> own = enter(key, now); own != null; own = enter(key, now)) {
            long left = own.overdraw(now, permits, maxDebt);
            if (left != Cell.GONE) {
                return left;
            }
        }
        long left = overflow.get(key).overdraw(horizon.notBefore(now), permits, maxDebt);
        VarHandle.fullFence();
        for (Cell<S> own = own(key); own != null; own = own(key)) {
            long ownLeft = own.overdraw(now, permits, maxDebt);
            if (ownLeft != Cell.GONE) {
                return ownLeft;
            }
        }
        return left;
    }

    @Override
    List<Spending> spendAll(String key, long now) {
        for (Cell<S> own = enter(key, now); own != null; own = enter(key, now)) {
            List<Spending> before = own.spendAll(now);
            if (before != null) {
                return before;
            }
        }
        return Objects.requireNonNull(overflow.get(key).spendAll(horizon.notBefore(now)), NEVER_DIE);
    }

    @Override
    void refund(String key, LongSupplier clock, long debitedAt, long permits) {
        for (Cell<S> own = slots.find(key); own != null && !own.isEntering(); own = slots.find(key)) {
            if (!inFlight && resets.isBeforeReset(key, debitedAt)) {
                return;
            }
            boolean isDone = own.refund(clock, debitedAt, permits);
            evictor.wake();
            if (isDone) {
                return;
            }
        }
        Cell<S> shared = inFlight ? overflow.peek(key) : null;
        if (shared != null) {
            shared.refund(clock, debitedAt, permits);
        }
    }

    @Override
    void reset(String key, LongSupplier clock) {
        if (inFlight) {
            return;
        }
        long now = clock.getAsLong();
        for (Cell<S> own = ownToReset(key, now); own != null; own = ownToReset(key, now)) {
            resets.record(key, now);
            if (own.kill()) {
                // Debits since the first reading died too.
                resets.record(key, clock.getAsLong());
                slots.restart(key, own);
                evictor.wake();
                return;
            }
        }
    }

    private @Nullable Cell<S> ownToReset(String key, long now) {
        CarriedSpend left = carried;
        if (left != null) {
            left.reset(key);
        }
        Cell<S> own = own(key);
        return own == null && start(key) != pristine ? enter(key, now) : own;
    }

    @Override
    Reading read(String key, long now, long permits) {
        Cell<S> own = ownToRead(key);
        if (own != null) {
            return own.read(now, permits);
        }
        long from = horizon.notBefore(now);
        Reading turnedAway = slots.hasRoom() ? null : turnedAway(key, from);
        return Cell.since(now, from, turnedAway == null ? start(key).read(from, permits) : turnedAway);
    }

    @Override
    long waitTicks(String key, long at, long permits) {
        Cell<S> own = ownToRead(key);
        if (own != null) {
            return own.waitTicks(at, permits);
        }
        long from = horizon.notBefore(at);
        Reading turnedAway = slots.hasRoom() ? null : turnedAway(key, from);
        return Cell.since(at, from, turnedAway == null ? start(key).waitTicks(from, permits) : turnedAway.waitTicks());
    }

    @Override
    Projection<?> projection(String key, long now) {
        Cell<S> own = ownToRead(key);
        return own != null ? own.projection(now) : start(key).projection(horizon.notBefore(now));
    }

    @Override
    public List<Spending> spent(String key, long at) {
        Cell<S> own = ownToRead(key);
        return (own == null ? start(key) : own).spent(at);
    }

    @Override
    int size() {
        return slots.size();
    }

    /** The key's cell, null if it has none; begins a cell that another thread has let enter. */
    private @Nullable Cell<S> own(String key) {
        Cell<S> own = slots.find(key);
        while (own != null && own.isEntering()) {
            begin(key, own);
            own = slots.find(key);
        }
        return own;
    }

    private @Nullable Cell<S> ownToRead(String key) {
        for (Cell<S> own = own(key); own != null; own = own(key)) {
            Cell<S> snapshot = own.snapshot();
            if (snapshot != null) {
                return snapshot;
            }
        }
        return null;
    }

    /** The key's cell, made if there is none; null if the key may not enter or there is no room. */
    private @Nullable Cell<S> enter(String key, long now) {
        CarriedSpend left = carried;
        if (left != null && left.isOver(now)) {
            carried = null;
        }
        if (!frozen) {
            slots.rehash(now, beginner);
        }
        boolean swept = false;
        for (; ; ) {
            Cell<S> own = own(key);
            if (own != null) {
                return own;
            }
            if (inFlight && start(key) != pristine) {
                return null;
            }
            if (!slots.enter(key)) {
                if (swept || frozen) {
                    return null;
                }
                evictor.evict(now);
                swept = true;
            }
        }
    }

    /** A key must not enter while permits of a concurrency limit are in flight on its overflow cell. */
    private void begin(String key, Cell<S> entering) {
        VarHandle.fullFence();
        ObjectCell<S> start = start(key);
        if (inFlight && start != pristine) {
            slots.leave(key, entering);
        } else {
            slots.begin(key, entering, start);
        }
    }

    /**
     * The cell whose state a key without one starts from. One that is refilled by the horizon counts as fresh, so that the
     * key's debits are held to the horizon.
     */
    private ObjectCell<S> start(String key) {
        ObjectCell<S> shared = overflow.peek(key);
        ObjectCell<S> start = owing(shared == null ? pristine : shared, key);
        return start == pristine || start.isRefilled(horizon.horizon()) ? pristine : start;
    }

    /** The denial of a key that finds no room until it has recovered its carried spend; null if nothing of that is left. */
    private @Nullable Reading turnedAway(String key, long from) {
        Cell<S> owed = owing(pristine, key);
        return owed == pristine || owed.isRefilled(from)
                ? null
                : owed.read(from, owed.read(from, 1).limit());
    }

    /** A cell that holds the key's carried spend too. */
    private ObjectCell<S> owing(ObjectCell<S> cell, String key) {
        CarriedSpend left = carried;
        List<Spending> spent = left == null ? List.of() : left.spent(key);
        boolean owes = spent.stream().anyMatch(each -> each.permits() > 0);
        return left == null || !owes ? cell : cell.owing(left.asOf, spent);
    }

    @Override
    boolean changeTo(RateLimitPolicy policy) {
        return slots.changeTo(policy);
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
