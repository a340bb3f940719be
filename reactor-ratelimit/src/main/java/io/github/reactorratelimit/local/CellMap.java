package io.github.reactorratelimit.local;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The cells of the keys of a table, found by hash: chains of cells, each of which is its own link. A key has one live cell at
 * most. No thread waits for another.
 *
 * <p><b>Entering and leaving.</b> A cell enters by a CAS at the head of its chain, after the chain behind that head was
 * searched for the key. Only one thread at a time, which the {@link Evictor} chooses, changes links behind a head. It removes
 * dead cells; a dead cell that is still linked is passed over.
 *
 * <p><b>Growing.</b> New buckets are put behind the old ones. From then on a key enters the new buckets only, and before it
 * does, its old bucket is sealed: a seal, a cell of no key, becomes the head of the chain, which no cell can enter any more.
 * States stay in their cells, so a debit never meets a move. That same thread links the cells of a sealed chain into the
 * new buckets, the last one first: a cell is in its new chain before the one in front of it leads elsewhere, and behind a cell
 * that has been moved there is none that has not. So a search that passes first the old and then the new chain finds every
 * cell that stays. When all are moved, the old buckets are dropped.
 *
 * <p><b>Colliding keys.</b> Every client can make up keys with one {@link String#hashCode}. When a chain gets so long that
 * this cannot be chance, the next buckets are chosen by a {@link KeyedHash}.
 *
 * <p><b>The bound</b> counts keys: a place is reserved before a cell enters, and released when the cell is evicted. A reset
 * passes the place of the cell that it killed on to the fresh one.
 */
final class CellMap<S> {

    /** Makes a cell that is entering. */
    interface Maker<S> {
        Cell<S> make(String key, int hash);
    }

    private static final class Buckets<S> {

        final @Nullable Cell<S>[] heads;
        final boolean isKeyed;

        /** Set once, when the map grows. */
        volatile @Nullable Buckets<S> next;

        @SuppressWarnings({"unchecked", "rawtypes"})
        Buckets(int count, boolean isKeyed) {
            this.heads = new Cell[count];
            this.isKeyed = isKeyed;
        }
    }

    private static final int FIRST_BUCKETS = 16;
    private static final int MOST_BUCKETS = 1 << 28;
    private static final int BUCKETS_PER_CALL = 32;
    private static final int LONGEST_CHAIN = 64;

    /** The hash of a seal, and of no key. */
    private static final int NO_HASH = 0;

    private static final VarHandle HEADS = MethodHandles.arrayElementVarHandle(Cell[].class);

    private final Maker<S> maker;
    private final int bound;
    private final AtomicInteger taken = new AtomicInteger();
    private final int seed = ThreadLocalRandom.current().nextInt();
    private final KeyedHash keyedHash = new KeyedHash();

    /** The seal of a chain in which no cell is left. */
    private final Cell<S> emptySeal;

    /** Whether keys collide that were made up to collide. */
    private volatile boolean isFlooded;

    private volatile Buckets<S> oldest = new Buckets<>(FIRST_BUCKETS, false);

    // Owned by the thread that the evictor chooses.
    private final List<Cell<S>> chain = new ArrayList<>();
    private int moved;

    /** @param bound the most keys */
    CellMap(Maker<S> maker, int bound) {
        if (bound < 1) {
            throw new IllegalArgumentException("maxKeys must be positive, was " + bound);
        }
        this.maker = maker;
        this.bound = bound;
        this.emptySeal = maker.make("", NO_HASH);
    }

    /** The key's cell, which may be entering; null if it has none. */
    @Nullable
    Cell<S> find(String key) {
        int hash = hash(key);
        for (Buckets<S> each = oldest; each != null; each = each.next) {
            Cell<S> found = find(head(each, index(each, key, hash)), key, hash);
            if (found != null) {
                return found;
            }
        }
        return null;
    }

    private static <S> @Nullable Cell<S> find(@Nullable Cell<S> head, String key, int hash) {
        for (Cell<S> cell = head; cell != null; cell = cell.next) {
            if (cell.hash == hash && cell.key.equals(key) && !cell.isDead()) {
                return cell;
            }
        }
        return null;
    }

    /** Lets a key enter that has no cell; false if there is no room. */
    boolean enter(String key) {
        if (!reserve()) {
            return false;
        }
        insert(maker.make(key, hash(key)));
        return true;
    }

    /** Lets a key whose cell the caller has killed begin again, unless another thread lets it enter first. */
    void restart(String key, Consumer<Cell<S>> beginner) {
        Cell<S> created = maker.make(key, hash(key));
        beginner.accept(created);
        insert(created);
    }

    /** The caller has reserved a place, which is released if the key has a cell. */
    private void insert(Cell<S> created) {
        Buckets<S> buckets = oldest;
        for (; ; ) {
            int index = index(buckets, created.key, created.hash);
            Cell<S> head = head(buckets, index);
            if (find(head, created.key, created.hash) != null) {
                release();
                return;
            }
            Buckets<S> next = buckets.next;
            if (next != null) {
                seal(buckets, index, head);
                buckets = isSealed(head) ? next : buckets;
                continue;
            }
            created.next = head;
            if (HEADS.compareAndSet(buckets.heads, index, head, created)) {
                if (isLong(created)) {
                    isFlooded = true;
                }
                return;
            }
        }
    }

    private static boolean isSealed(@Nullable Cell<?> head) {
        return head != null && head.hash == NO_HASH;
    }

    private void seal(Buckets<S> buckets, int index, @Nullable Cell<S> head) {
        if (!isSealed(head)) {
            Cell<S> seal = head == null ? emptySeal : maker.make("", NO_HASH);
            seal.next = head;
            HEADS.compareAndSet(buckets.heads, index, head, seal);
        }
    }

    private static boolean isLong(Cell<?> head) {
        int length = 0;
        for (Cell<?> cell = head; cell != null && length <= LONGEST_CHAIN; cell = cell.next) {
            length++;
        }
        return length > LONGEST_CHAIN;
    }

    boolean isGrowing() {
        return oldest.next != null;
    }

    /** Whether {@link #rehash} has something to do. */
    boolean needsRehash() {
        Buckets<S> buckets = oldest;
        boolean isCrowded = taken.get() > buckets.heads.length && buckets.heads.length < MOST_BUCKETS;
        return isCrowded || buckets.next != null || (isFlooded && !buckets.isKeyed);
    }

    /**
     * Begins to grow, or does a bounded part of the work. By one thread at a time.
     *
     * @param evicts whether a cell was evicted instead of moved
     */
    void rehash(Predicate<Cell<S>> evicts) {
        Buckets<S> from = oldest;
        Buckets<S> to = from.next;
        int count = from.heads.length;
        if (to == null) {
            from.next = new Buckets<>(taken.get() > count ? 2 * count : count, from.isKeyed || isFlooded);
            return;
        }
        for (int end = Math.min(count, moved + BUCKETS_PER_CALL); moved < end; moved++) {
            move(from, to, moved, evicts);
        }
        if (moved == count) {
            moved = 0;
            oldest = to;
        }
    }

    private void move(Buckets<S> from, Buckets<S> to, int index, Predicate<Cell<S>> evicts) {
        Cell<S> seal = head(from, index);
        while (!isSealed(seal)) {
            seal(from, index, seal);
            seal = head(from, index);
        }
        for (Cell<S> cell = Objects.requireNonNull(seal).next; cell != null; cell = cell.next) {
            chain.add(cell);
        }
        for (int i = chain.size() - 1; i >= 0; i--) {
            Cell<S> cell = chain.get(i);
            if (!cell.isDead() && !evicts.test(cell)) {
                link(to, cell);
            }
        }
        chain.clear();
        HEADS.setVolatile(from.heads, index, emptySeal);
    }

    private void link(Buckets<S> to, Cell<S> cell) {
        int index = index(to, cell.key, cell.hash);
        Cell<S> head;
        do {
            head = head(to, index);
            cell.next = head;
        } while (!HEADS.compareAndSet(to.heads, index, head, cell));
    }

    /** How many buckets there are to {@link #visit} while the map does not grow. */
    int buckets() {
        return oldest.heads.length;
    }

    /** Passes the cells of a bucket, then removes the dead ones. By one thread at a time. */
    void visit(int index, Consumer<Cell<S>> visitor) {
        for (Cell<S> cell = head(oldest, index); cell != null; cell = cell.next) {
            visitor.accept(cell);
        }
        removeDead(oldest, index);
    }

    /** Removes dead cells near the key's. By one thread at a time. */
    void removeDead(String key) {
        for (Buckets<S> each = oldest; each != null; each = each.next) {
            removeDead(each, index(each, key, hash(key)));
        }
    }

    private static <S> void removeDead(Buckets<S> buckets, int index) {
        Cell<S> head = head(buckets, index);
        while (head != null && head.isDead()) {
            HEADS.compareAndSet(buckets.heads, index, head, head.next);
            head = head(buckets, index);
        }
        Cell<S> cell = head;
        while (cell != null) {
            Cell<S> next = cell.next;
            if (next != null && next.isDead()) {
                cell.next = next.next;
            } else {
                cell = next;
            }
        }
    }

    /** The keys that have a cell. One that stays is passed once, or twice while the map grows. */
    Iterator<String> keys() {
        return Stream.iterate(new Position<>(oldest, 0), Objects::nonNull, Position::next)
                .flatMap(position -> Stream.iterate(position.head(), Objects::nonNull, cell -> cell.next))
                .filter(cell -> cell.hash != NO_HASH && !cell.isDead())
                .map(cell -> cell.key)
                .iterator();
    }

    private record Position<S>(Buckets<S> buckets, int index) {

        @Nullable
        Cell<S> head() {
            return CellMap.head(buckets, index);
        }

        @Nullable
        Position<S> next() {
            if (index + 1 < buckets.heads.length) {
                return new Position<>(buckets, index + 1);
            }
            Buckets<S> next = buckets.next;
            return next == null ? null : new Position<>(next, 0);
        }
    }

    @SuppressWarnings("unchecked")
    private static <S> @Nullable Cell<S> head(Buckets<S> buckets, int index) {
        return (Cell<S>) HEADS.getAcquire(buckets.heads, index);
    }

    private int hash(String key) {
        int hash = (key.hashCode() ^ seed) * 0x9E3779B1;
        return hash == NO_HASH ? 1 : hash;
    }

    /** By the leading bits, in which the hash is best. */
    private int index(Buckets<S> buckets, String key, int hash) {
        long bits = buckets.isKeyed ? keyedHash.of(key) : hash;
        return (int) (((bits & 0xFFFF_FFFFL) * buckets.heads.length) >>> 32);
    }

    boolean hasRoom() {
        return taken.get() < bound;
    }

    /** Reserves a place; false if there is none. */
    private boolean reserve() {
        for (int seen = taken.get(); seen < bound; seen = taken.get()) {
            if (taken.compareAndSet(seen, seen + 1)) {
                return true;
            }
        }
        return false;
    }

    void release() {
        taken.decrementAndGet();
    }

    int size() {
        return taken.get();
    }
}
