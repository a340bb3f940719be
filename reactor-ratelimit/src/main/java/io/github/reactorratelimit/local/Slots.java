package io.github.reactorratelimit.local;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitPolicy;
import java.util.Iterator;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Where a {@link BoundedKeyTable} keeps the cells of its keys, at most a bounded number: an array of longs, or a map of
 * objects. A key has one cell at most. Each method is one atomic step, or several in an order that other threads may
 * observe.
 *
 * @param <S> the state of a key
 */
interface Slots<S> {

    /** Takes permits if the key's state is where it usually is, else {@link Cell.Outcome#GONE}. */
    Cell.Outcome tryTake(String key, long at, long permits);

    /** The denial of permits that the key's state denies; null if that costs more than a look at an array. */
    default @Nullable Decision denial(String key, long at, long permits) {
        return null;
    }

    /** The key's cell, which may be entering; null if the key has none. */
    @Nullable
    Cell<S> find(String key);

    /** Lets a key enter that has no cell; false if there is no room. */
    boolean enter(String key);

    /** Gives an entering key the state of {@code start}; the first call wins. */
    void begin(String key, Cell<S> entering, ObjectCell<S> start);

    /** Removes a key that is entering; the first call wins. */
    void leave(String key, Cell<S> entering);

    /** Lets a key whose cell the caller has killed begin with a fresh state, unless another thread lets it enter first. */
    void restart(String key, Cell<S> killed);

    /** Makes room. */
    Evictor evictor();

    /**
     * Does a bounded part of the work of growing.
     *
     * @param beginner gives a state to a key that is entering
     */
    default void rehash(long now, BiConsumer<String, Cell<S>> beginner) {}

    /** See {@link KeyTable#changeTo}. */
    default boolean changeTo(RateLimitPolicy policy) {
        return false;
    }

    /** The keys that have a cell; those that stay are passed once. */
    Iterator<String> keys();

    boolean hasRoom();

    int size();
}
