package io.github.reactorratelimit.local;

import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import reactor.util.Logger;
import reactor.util.Loggers;

/**
 * The cells that keys share when the table has no room: a {@link KeyedHash} chooses a key's cell. Nothing is allocated before
 * the first key needs it, and cells are never evicted.
 */
final class OverflowCells<S> {

    /** That of the store, which users know. */
    private static final Logger LOG = Loggers.getLogger(OverflowCells.class.getPackageName() + ".LocalStore");

    private final Supplier<Cell<S>> maker;
    private final int maxKeys;
    private final int count;
    private final KeyedHash hash = new KeyedHash();
    private final AtomicBoolean warned = new AtomicBoolean();
    private final AtomicReference<@Nullable AtomicReferenceArray<@Nullable Cell<S>>> cells = new AtomicReference<>();

    /**
     * @param maker makes a fresh cell
     * @param maxKeys how many keys have a state of their own
     * @param count how many cells there are, a power of two
     */
    OverflowCells(Supplier<Cell<S>> maker, int maxKeys, int count) {
        this.maker = maker;
        this.maxKeys = maxKeys;
        this.count = count;
    }

    /** Whether any key ever needed one. */
    boolean areUsed() {
        return cells.get() != null;
    }

    /** The key's cell, null if no key ever needed it. */
    @Nullable
    Cell<S> peek(String key) {
        AtomicReferenceArray<@Nullable Cell<S>> all = cells.get();
        return all == null ? null : all.get(indexOf(key));
    }

    /** The key's cell. */
    Cell<S> get(String key) {
        if (!areUsed()) {
            cells.compareAndSet(null, new AtomicReferenceArray<>(count));
        }
        AtomicReferenceArray<@Nullable Cell<S>> all = Objects.requireNonNull(cells.get());
        int index = indexOf(key);
        Cell<S> cell = all.get(index);
        if (cell != null) {
            return cell;
        }
        Cell<S> created = maker.get();
        Cell<S> other = all.compareAndExchange(index, null, created);
        return other == null ? created : other;
    }

    private int indexOf(String key) {
        return (int) hash.of(key) & (count - 1);
    }

    /** A key was denied in its cell, perhaps for what other keys spent there. */
    void denied() {
        if (!warned.get() && warned.compareAndSet(false, true)) {
            LOG.warn(
                    "More keys owe permits than the store holds, maxKeys is {}: keys beyond that share {} cells and are"
                            + " denied for what other keys spend there. Raise maxKeys, or use a SketchStore. Logged once.",
                    maxKeys,
                    count);
        }
    }
}
