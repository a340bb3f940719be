package io.github.reactorratelimit.local;

import io.github.reactorratelimit.algorithm.LongAlgorithm;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Slots for keys, found by hash. {@link SlotTables} says how tables follow each other. A slot is a hash, a key and a state,
 * in three arrays; each is written once, but for the state, which changes until it is final.
 *
 * <ul>
 *   <li>The hash goes from {@link #FREE} to that of a key, which is odd, or to {@link #SEALED}. A shadow, which only the
 *       rehashing thread may see, has the hash less one until it is shown.
 *   <li>The key is set after the hash. A slot with a hash and no key yet belongs to the first key with that hash that takes
 *       it. A key that will never be looked for here again becomes {@link #NO_KEY}.
 *   <li>The state goes from {@link #ENTERING} through those of the policy to {@link #DEAD} or {@link #MOVED}, which are
 *       final: a CAS of a thread that was held up can only hit the same key.
 * </ul>
 *
 * <p>A key's slots are tried in one order: a window that follows its hash, then one that follows its {@linkplain KeyedHash
 * keyed hash}, so that keys with colliding hashes find room. A key takes the first slot that it can, and no slot becomes
 * available again. Hence a slot behind one that is still available is not the key's, and a thread that takes or seals the
 * first available one has decided for all.
 */
final class SlotTable {

    /** The mark of a dead slot. */
    static final long DEAD = LongAlgorithm.RESERVED;

    /** The state is in a later table. */
    static final long MOVED = DEAD + 1;

    /** The key has a slot, but no state yet; any thread that meets it begins the state. What memory is filled with. */
    static final long ENTERING = LongAlgorithm.LAST_RESERVED;

    // What is known of a key that has no slot here.

    /** It has none, and may take one. */
    static final int OPEN = -1;

    /** It never had one here, or was evicted, and will never get one. */
    static final int SHUT = -2;

    /** Its last one is dead. */
    static final int DIED = -3;

    /** Its state is in a later table, perhaps in a shadow. */
    static final int LEFT = -4;

    /** Added to the slot that a key has just got. */
    static final int TAKEN = 1 << 30;

    static final int MAX_SLOTS = TAKEN / 2;

    private static final int WINDOW = 64;

    /** Long enough to lead out of a first window that colliding keys have filled. */
    private static final int SECOND_WINDOW = 4 * WINDOW;

    private static final int FREE = 0;
    private static final int SEALED = 1;
    private static final Object NO_KEY = new Object();

    private static final VarHandle HASHES = MethodHandles.arrayElementVarHandle(int[].class);
    private static final VarHandle KEYS = MethodHandles.arrayElementVarHandle(Object[].class);
    private static final VarHandle STATES = MethodHandles.arrayElementVarHandle(long[].class);

    private final KeyedHash rehash;
    private final int[] hashes;
    private final @Nullable Object[] keys;

    /** Each XOR {@link #ENTERING}. */
    private final long[] states;

    private final AtomicInteger taken = new AtomicInteger();
    private final AtomicReference<@Nullable SlotTable> next = new AtomicReference<>();

    SlotTable(KeyedHash rehash, int slots) {
        this.rehash = rehash;
        this.hashes = new int[slots];
        this.keys = new Object[slots];
        this.states = new long[slots];
    }

    int slots() {
        return hashes.length;
    }

    /** Whether so many slots were taken that finding one takes long. */
    boolean isCrowded() {
        return taken.get() > hashes.length / 4 * 3;
    }

    boolean isHalfEmpty() {
        return taken.get() < hashes.length / 2;
    }

    @Nullable
    SlotTable next() {
        return next.get();
    }

    boolean setNext(SlotTable table) {
        return next.compareAndSet(null, table);
    }

    long state(int slot) {
        return (long) STATES.getVolatile(states, slot) ^ ENTERING;
    }

    static boolean isMark(long state) {
        return state <= LongAlgorithm.LAST_RESERVED;
    }

    boolean swap(int slot, long seen, long to) {
        return STATES.compareAndSet(states, slot, seen ^ ENTERING, to ^ ENTERING);
    }

    /** The slot of a key where it usually is, {@link #OPEN} if that needs a {@linkplain #locate closer look}. */
    int find(String key, int hash) {
        int[] all = hashes;
        int slot = first(hash);
        for (int n = 0; n < WINDOW; n++) {
            // Plain reads: the closer look finds what they miss.
            int seen = all[slot];
            if (seen == hash) {
                Object held = keys[slot];
                if (held == key || key.equals(held)) {
                    return slot;
                }
            }
            if (seen == FREE) {
                return OPEN;
            }
            slot = slot + 1 == all.length ? 0 : slot + 1;
        }
        return OPEN;
    }

    /**
     * The slot of a key whose state is not final; {@link #OPEN}, {@link #SHUT}, {@link #DIED} or {@link #LEFT}
     * if it has none.
     *
     * @param left whether the key has left the table before for a later one
     */
    int locate(String key, int hash, boolean left) {
        int found = SHUT;
        int slot = first(hash);
        for (int n = 0; n < WINDOW + SECOND_WINDOW; n++, slot = after(slot, n, key)) {
            int seen = hash(slot);
            if (seen == SEALED) {
                return found;
            }
            if (seen == FREE || (seen == hash && KEYS.getAcquire(keys, slot) == null)) {
                return found == LEFT ? LEFT : OPEN;
            }
            if (isOf(slot, seen, key, hash, left)) {
                found = look(slot, found);
                if (found >= 0) {
                    return found;
                }
            }
        }
        return found;
    }

    /**
     * Like {@link #locate}, and the key takes a slot if it can: the slot is marked {@link #TAKEN} then. In a table that has
     * a successor it cannot, and will not be able to any more.
     */
    int take(String key, int hash, boolean left) {
        return take(key, hash, left, hash);
    }

    /** Like {@link #take}, but the slot that is taken is a shadow that holds the key. */
    int takeShadow(String key, int hash) {
        return take(key, hash, false, hash - 1);
    }

    /** A slot with the key's hash and no key yet must not go to the key behind the shadow. */
    private int take(String key, int hash, boolean left, int written) {
        int found = SHUT;
        int slot = first(hash);
        for (int n = 0; n < WINDOW + SECOND_WINDOW; n++, slot = after(slot, n, key)) {
            int seen = takeOrSeal(slot, written);
            if (seen == SEALED) {
                return found;
            }
            boolean isWanted = seen == written && found != LEFT;
            if ((seen == written || seen == hash) && KEYS.compareAndSet(keys, slot, null, isWanted ? key : NO_KEY)) {
                if (isWanted) {
                    return slot + TAKEN;
                }
                continue;
            }
            if (isOf(slot, seen, key, hash, left)) {
                found = look(slot, found);
                if (found >= 0) {
                    return found;
                }
            }
        }
        return found;
    }

    /** The hash of a slot after it was tried to take it, or to seal it if there is a later table. */
    private int takeOrSeal(int slot, int hash) {
        int seen = hash(slot);
        if (seen != FREE) {
            return seen;
        }
        int to = next.get() == null ? hash : SEALED;
        int was = (int) HASHES.compareAndExchange(hashes, slot, FREE, to);
        if (was != FREE) {
            return was;
        }
        taken.incrementAndGet();
        return to;
    }

    /** Whether a slot is the key's; shows the key's shadow if it has become its slot. */
    private boolean isOf(int slot, int seen, String key, int hash, boolean left) {
        if (seen == hash) {
            return holds(slot, key);
        }
        if (!left || seen != hash - 1 || !holds(slot, key)) {
            return false;
        }
        show(slot);
        return true;
    }

    private boolean holds(int slot, String key) {
        Object held = KEYS.getAcquire(keys, slot);
        return held == key || key.equals(held);
    }

    /** What a slot of the key tells, after {@code found}: once the key has left, it had no later life here. */
    private int look(int slot, int found) {
        return found == LEFT ? LEFT : look(slot);
    }

    private int look(int slot) {
        long state = state(slot);
        if (state == MOVED) {
            return LEFT;
        }
        return state == DEAD ? DIED : slot;
    }

    /** The key of a slot, null if there is none or its state is final; with the table sealed, there will be none. */
    @Nullable
    String keyOrSeal(int slot) {
        if (takeOrSeal(slot, SEALED) == SEALED) {
            return null;
        }
        Object held = KEYS.compareAndExchange(keys, slot, null, NO_KEY);
        return held instanceof String key && look(slot) >= 0 ? key : null;
    }

    /** The key of a slot, null if there is none now or its state is final. */
    @Nullable
    String key(int slot) {
        return hash(slot) != FREE && KEYS.getAcquire(keys, slot) instanceof String key && look(slot) >= 0 ? key : null;
    }

    int hash(int slot) {
        return (int) HASHES.getVolatile(hashes, slot);
    }

    /** Of a shadow: only the rehashing thread knows the slot. */
    void setState(int slot, long state) {
        STATES.setVolatile(states, slot, state ^ ENTERING);
    }

    /** Makes a shadow the slot of its key. */
    void show(int slot) {
        int seen = hash(slot);
        if ((seen & 1) == 0) {
            HASHES.compareAndSet(hashes, slot, seen, seen + 1);
        }
    }

    /** Removes a key that was evicted, or whose shadow is not needed. */
    void clear(int slot) {
        KEYS.setVolatile(keys, slot, NO_KEY);
    }

    private int first(int hash) {
        return (int) (((hash & 0xFFFF_FFFFL) * hashes.length) >>> 32);
    }

    /** The {@code n}-th slot to try, which follows {@code slot} but for the start of a window. */
    private int after(int slot, int n, String key) {
        if (n == WINDOW) {
            return first((int) rehash.of(key));
        }
        return slot + 1 == hashes.length ? 0 : slot + 1;
    }
}
