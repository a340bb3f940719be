package io.github.reactorratelimit.local;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Projection;
import io.github.reactorratelimit.algorithm.Reading;
import io.github.reactorratelimit.algorithm.Spending;
import io.github.reactorratelimit.local.Cell.Outcome;
import io.github.reactorratelimit.local.Cell.Shared;
import java.lang.invoke.VarHandle;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A table in which at most a bounded number of keys have a {@link Cell} of their own, and how it stays exact when keys come
 * and go.
 *
 * <p><b>Where a key's state is.</b> A key in the table has its own cell, in a {@link CellMap}. When the table is full and the
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
    private final Cell<S> pristine;

    /** Whether permits come back by refund only. */
    private final boolean inFlight;

    private final CellMap<S> cells;
    private final Shared<S> shared;
    private final EvictionHorizon horizon;
    private final Evictor<S> evictor;
    private final OverflowCells<S> overflow;
    private final ResetTimes resets = new ResetTimes();

    private volatile @Nullable CarriedSpend carried;
    private volatile boolean frozen;

    BoundedKeyTable(
            CellMap<S> cells,
            Shared<S> shared,
            Cell<S> pristine,
            OverflowCells<S> overflow,
            @Nullable CarriedSpend carried) {
        this.cells = cells;
        this.shared = shared;
        this.pristine = pristine;
        this.inFlight = shared.steps.policy().needsRelease();
        this.horizon = shared.horizon;
        this.evictor = new Evictor<>(cells, shared);
        this.overflow = overflow;
        this.carried = carried;
    }

    CellMap<S> cells() {
        return cells;
    }

    Evictor<S> evictor() {
        return evictor;
    }

    @Override
    boolean tryTake(String key, long at, long permits) {
        Cell<S> own = find(key, at);
        Outcome outcome = own == null ? Outcome.GONE : own.tryTake(shared, at, permits);
        return outcome == Outcome.GONE ? debit(key, at, permits).allowed() : outcome == Outcome.TAKEN;
    }

    /** The key's cell where it usually has one. The work of growing goes on also when no key enters. */
    private @Nullable Cell<S> find(String key, long now) {
        if (cells.isGrowing()) {
            rehash(now);
        }
        return cells.find(key);
    }

    private void rehash(long now) {
        if (!frozen) {
            evictor.rehash(now);
        }
    }

    @Override
    @Nullable
    Decision takeOrDeny(String key, long at, long permits) {
        Cell<S> own = find(key, at);
        Outcome outcome = own == null ? Outcome.GONE : own.tryTake(shared, at, permits);
        if (outcome == Outcome.TAKEN) {
            return null;
        }
        Decision denial = own != null && outcome == Outcome.DENIED ? own.denial(shared, at, permits) : null;
        return denial == null ? super.takeOrDeny(key, at, permits) : denial;
    }

    @Override
    Decision debit(Object owner, RateLimitPolicy policy, String key, long at, long permits) {
        Cell<S> own = find(key, at);
        Decision decision = own == null ? null : own.decide(shared, owner, policy, at, permits);
        return decision == null ? super.debit(owner, policy, key, at, permits) : decision;
    }

    @Override
    Reading debit(String key, long at, long permits) {
        Reading own = onCell(() -> enter(key, at), cell -> cell.debit(shared, at, permits));
        return own == null ? debitOverflow(key, at, permits) : own;
    }

    /** Makes a step on the key's cell, and looks the key up again if the cell dies before; null if it has none. */
    private static <S, R> @Nullable R onCell(Supplier<@Nullable Cell<S>> lookup, Function<Cell<S>, @Nullable R> step) {
        for (Cell<S> cell = lookup.get(); cell != null; cell = lookup.get()) {
            R done = step.apply(cell);
            if (done != null) {
                return done;
            }
        }
        return null;
    }

    private Reading debitOverflow(String key, long at, long permits) {
        long from = horizon.notBefore(at);
        Reading turnedAway = turnedAway(key, from);
        if (turnedAway != null) {
            return Cell.since(at, from, turnedAway);
        }
        Cell<S> overflowed = overflow.get(key);
        Reading reading = Objects.requireNonNull(overflowed.debit(shared, from, permits), NEVER_DIE);
        if (reading.allowed()) {
            VarHandle.fullFence();
            Reading own = onCell(() -> own(key), cell -> cell.debit(shared, at, permits));
            if (own != null) {
                takeBack(overflowed, from, permits);
                return own;
            }
        } else {
            overflow.denied();
        }
        return Cell.since(at, from, reading);
    }

    private void takeBack(Cell<S> overflowed, long debitedAt, long permits) {
        if (inFlight) {
            overflowed.refund(shared, () -> debitedAt, debitedAt, permits);
        }
    }

    @Override
    long overdraw(String key, long now, long permits, long maxDebt) {
        if (inFlight) {
            return permits;
        }
        return spend(key, now, (cell, at) -> cell.overdraw(shared, at, permits, maxDebt));
    }

    @Override
    List<Spending> spendAll(String key, long now) {
        return spend(key, now, (cell, at) -> cell.spendAll(shared, at));
    }

    /** A step of a cell as of a time; null if there is no state in the cell. */
    private interface Spend<S, R> {
        @Nullable
        R of(Cell<S> cell, long at);
    }

    private <R> R spend(String key, long now, Spend<S, R> spend) {
        R own = onCell(() -> enter(key, now), cell -> spend.of(cell, now));
        if (own != null) {
            return own;
        }
        R left = Objects.requireNonNull(spend.of(overflow.get(key), horizon.notBefore(now)), NEVER_DIE);
        VarHandle.fullFence();
        R entered = onCell(() -> own(key), cell -> spend.of(cell, now));
        return entered == null ? left : entered;
    }

    @Override
    void refund(String key, LongSupplier clock, long debitedAt, long permits) {
        for (Cell<S> own = cells.find(key); own != null && !own.isEntering(); own = cells.find(key)) {
            if (!inFlight && resets.isBeforeReset(key, debitedAt)) {
                return;
            }
            boolean isDone = own.refund(shared, clock, debitedAt, permits);
            evictor.wake();
            if (isDone) {
                return;
            }
        }
        Cell<S> overflowed = inFlight ? overflow.peek(key) : null;
        if (overflowed != null) {
            overflowed.refund(shared, clock, debitedAt, permits);
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
                cells.restart(key, created -> created.begin(shared, pristine));
                evictor.removeDead(key);
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
        Cell<S> own = own(key);
        if (own != null) {
            return own.read(shared, now, permits);
        }
        long from = horizon.notBefore(now);
        Reading turnedAway = cells.hasRoom() ? null : turnedAway(key, from);
        return Cell.since(now, from, turnedAway == null ? start(key).read(shared, from, permits) : turnedAway);
    }

    @Override
    long waitTicks(String key, long at, long permits) {
        Cell<S> own = own(key);
        if (own != null) {
            return own.waitTicks(shared, at, permits);
        }
        long from = horizon.notBefore(at);
        Reading turnedAway = cells.hasRoom() ? null : turnedAway(key, from);
        return Cell.since(
                at, from, turnedAway == null ? start(key).waitTicks(shared, from, permits) : turnedAway.waitTicks());
    }

    @Override
    Projection<?> projection(String key, long now) {
        Cell<S> own = own(key);
        return own != null ? own.projection(shared, now) : start(key).projection(shared, horizon.notBefore(now));
    }

    @Override
    List<Spending> spent(String key, long at) {
        Cell<S> own = own(key);
        return (own == null ? start(key) : own).spent(shared, at);
    }

    /** The key's cell, null if it has none; begins a cell that another thread has let enter. */
    private @Nullable Cell<S> own(String key) {
        Cell<S> own = cells.find(key);
        while (own != null && own.isEntering()) {
            begin(key, own);
            own = cells.find(key);
        }
        return own;
    }

    /** The key's cell, made if there is none; null if the key may not enter or there is no room. */
    private @Nullable Cell<S> enter(String key, long now) {
        CarriedSpend left = carried;
        if (left != null && left.isOver(now)) {
            carried = null;
        }
        rehash(now);
        boolean swept = false;
        for (; ; ) {
            Cell<S> own = own(key);
            if (own != null) {
                return own;
            }
            if (inFlight && start(key) != pristine) {
                return null;
            }
            if (!cells.enter(key)) {
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
        Cell<S> start = start(key);
        if (inFlight && start != pristine) {
            if (entering.swapDead(null)) {
                cells.release();
                evictor.removeDead(key);
            }
        } else {
            entering.begin(shared, start);
        }
    }

    /**
     * The cell whose state a key without one starts from. One that is refilled by the horizon counts as fresh, so that the
     * key's debits are held to the horizon.
     */
    private Cell<S> start(String key) {
        Cell<S> overflowed = overflow.peek(key);
        Cell<S> start = owing(overflowed == null ? pristine : overflowed, key);
        return start == pristine || start.isRefilled(shared, horizon.horizon()) ? pristine : start;
    }

    /** The denial of a key that finds no room until it has recovered its carried spend; null if nothing of that is left. */
    private @Nullable Reading turnedAway(String key, long from) {
        Cell<S> owed = owing(pristine, key);
        return owed == pristine || owed.isRefilled(shared, from)
                ? null
                : owed.read(shared, from, owed.read(shared, from, 1).policy().capacity());
    }

    /** A cell that holds the key's carried spend too. */
    private Cell<S> owing(Cell<S> cell, String key) {
        CarriedSpend left = carried;
        List<Spending> spent = left == null ? List.of() : left.spent(key);
        boolean owes = spent.stream().anyMatch(each -> each.permits() > 0);
        return left == null || !owes ? cell : cell.owing(shared, left.asOf, spent);
    }

    @Override
    boolean changeTo(RateLimitPolicy policy) {
        return shared.changeTo(policy);
    }

    @Override
    @Nullable
    CarriedSpend carried() {
        return carried;
    }

    @Override
    Iterator<String> keys() {
        return cells.keys();
    }

    @Override
    boolean knowsAllKeys() {
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
