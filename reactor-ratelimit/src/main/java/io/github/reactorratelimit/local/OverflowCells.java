package io.github.reactorratelimit.local;

import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.AtomicReferenceArray;
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

    private final ObjectCell<S> pristine;
    private final int maxKeys;
    private final int count;
    private final KeyedHash hash = new KeyedHash();
    private final AtomicBoolean warned = new AtomicBoolean();
    private final AtomicReference<@Nullable AtomicReferenceArray<@Nullable ObjectCell<S>>> cells =
            new AtomicReference<>();

    /**
     * @param maxKeys how many keys have a state of their own
     * @param count how many cells there are, a power of two
     */
    OverflowCells(ObjectCell<S> pristine, int maxKeys, int count) {
        this.pristine = pristine;
        this.maxKeys = maxKeys;
        this.count = count;
    }

    /** Whether any key ever needed one. */
    boolean areUsed() {
        return cells.get() != null;
    }

    /** The key's cell, null if no key ever needed it. */
    @Nullable
    ObjectCell<S> peek(String key) {
        AtomicReferenceArray<@Nullable ObjectCell<S>> all = cells.get();
        return all == null ? null : all.get(indexOf(key));
    }

    /** The key's cell. */
    ObjectCell<S> get(String key) {
        if (!areUsed()) {
            cells.compareAndSet(null, new AtomicReferenceArray<>(count));
        }
        AtomicReferenceArray<@Nullable ObjectCell<S>> all = Objects.requireNonNull(cells.get());
        int index = indexOf(key);
        ObjectCell<S> cell = all.get(index);
        if (cell != null) {
            return cell;
        }
        ObjectCell<S> created = pristine.copy();
        ObjectCell<S> other = all.compareAndExchange(index, null, created);
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
