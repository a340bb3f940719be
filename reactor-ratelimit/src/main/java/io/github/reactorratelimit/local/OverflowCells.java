package io.github.reactorratelimit.local;

import io.github.reactorratelimit.hashing.KeyedHash;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;
import reactor.util.Logger;
import reactor.util.Loggers;

/**
 * The cells that keys share when the table has no room: a key's cell is chosen by a {@link KeyedHash}.
 * Nothing is allocated before the first key needs it, and cells are never forgotten.
 */
final class OverflowCells {

    /** That of the store, which users know. */
    private static final Logger LOG = Loggers.getLogger(OverflowCells.class.getPackageName() + ".LocalStore");

    private final Cell pristine;
    private final int maxKeys;
    private final int count;
    private final AtomicBoolean warned = new AtomicBoolean();
    private final AtomicReference<@Nullable Hashed> hashed = new AtomicReference<>();

    private record Hashed(KeyedHash hash, AtomicReferenceArray<@Nullable Cell> cells) {

        int indexOf(String key) {
            return (int) hash.of(key) & (cells.length() - 1);
        }
    }

    /**
     * @param maxKeys how many keys have a state of their own
     * @param count how many cells there are, a power of two
     */
    OverflowCells(Cell pristine, int maxKeys, int count) {
        this.pristine = pristine;
        this.maxKeys = maxKeys;
        this.count = count;
        KeyedHash.prepare();
    }

    /** Whether any key ever needed one. */
    boolean areUsed() {
        return hashed.get() != null;
    }

    /** The key's cell, null if no key ever needed it. */
    @Nullable
    Cell peek(String key) {
        Hashed all = hashed.get();
        return all == null ? null : all.cells.get(all.indexOf(key));
    }

    /** The key's cell. */
    Cell get(String key) {
        Hashed all = hashed();
        int index = all.indexOf(key);
        Cell cell = all.cells.get(index);
        if (cell != null) {
            return cell;
        }
        Cell created = pristine.copy();
        Cell other = all.cells.compareAndExchange(index, null, created);
        return other == null ? created : other;
    }

    /** A key was denied in its cell, perhaps for what others spent there. */
    void denied() {
        if (!warned.get() && warned.compareAndSet(false, true)) {
            LOG.warn(
                    "More keys owe permits than the store holds, maxKeys is {}: keys beyond that share {} cells and are"
                            + " denied for what others spend there. Raise maxKeys, or use a SketchStore. Logged once.",
                    maxKeys,
                    count);
        }
    }

    private Hashed hashed() {
        Hashed all = hashed.get();
        if (all != null) {
            return all;
        }
        Hashed created = new Hashed(KeyedHash.create(), new AtomicReferenceArray<>(count));
        Hashed other = hashed.compareAndExchange(null, created);
        return other == null ? created : other;
    }
}
