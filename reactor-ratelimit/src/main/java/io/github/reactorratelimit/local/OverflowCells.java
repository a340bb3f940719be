package io.github.reactorratelimit.local;

import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * The cells that keys share when the table has no room: a key's cell is chosen by a {@link KeyedHash}.
 * Nothing is allocated before the first key needs it, and cells are never forgotten.
 */
final class OverflowCells {

    private final Cell pristine;
    private final int count;
    private final KeyedHash hash = KeyedHash.create();
    private final AtomicReference<@Nullable AtomicReferenceArray<@Nullable Cell>> cells = new AtomicReference<>();

    /** @param count how many there are, a power of two */
    OverflowCells(Cell pristine, int count) {
        this.pristine = pristine;
        this.count = count;
    }

    /** The key's cell, null if no key ever needed it. */
    @Nullable
    Cell peek(String key) {
        AtomicReferenceArray<@Nullable Cell> array = cells.get();
        return array == null ? null : array.get(index(key));
    }

    /** The key's cell. */
    Cell get(String key) {
        AtomicReferenceArray<@Nullable Cell> array = array();
        int index = index(key);
        Cell cell = array.get(index);
        if (cell != null) {
            return cell;
        }
        Cell created = pristine.copy();
        Cell other = array.compareAndExchange(index, null, created);
        return other == null ? created : other;
    }

    private AtomicReferenceArray<@Nullable Cell> array() {
        AtomicReferenceArray<@Nullable Cell> array = cells.get();
        if (array != null) {
            return array;
        }
        AtomicReferenceArray<@Nullable Cell> created = new AtomicReferenceArray<>(count);
        AtomicReferenceArray<@Nullable Cell> other = cells.compareAndExchange(null, created);
        return other == null ? created : other;
    }

    private int index(String key) {
        return (int) hash.of(key) & (count - 1);
    }
}
