package io.github.reactorratelimit.local;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * The prepaid permits of one key for as long as it is asked for very often, or by several threads at once: a few stripes, each
 * on a cache line of its own, from which threads take without meeting each other. {@link StripedTable}
 * says when, and why that is right.
 *
 * <p>A stripe is one word: the permits in it; {@link #SHUT}; or marked by the one thread that fetches
 * more, with the permits that are left in it, which nobody may take meanwhile.
 */
final class HotKey {

    /** Moves in this order only. */
    private enum State {
        /** Published; all stripes are shut. Owned by who published it. */
        OPENING,
        /** Threads take from the stripes and fill them. */
        OPEN,
        /** Owned by the thread that shuts the stripes and gives back what is in them. */
        CLOSING,
        /** Of no effect any more. */
        CLOSED
    }

    /** What {@link #mark} returns if it did not. */
    static final long NOT_MARKED = -1;

    private static final long SHUT = -1;
    private static final int SEATS = 64;
    private static final int WORDS_PER_LINE = 16;

    /** Which stripe a thread uses, by its id: in the order of arrival, 0 for none yet. Races are harmless. */
    private final int[] seats = new int[SEATS];

    private final AtomicInteger seated = new AtomicInteger();
    private final String key;
    private final int stripes;
    private final AtomicLongArray words;

    /** The time when it was published, read before. Later ones in the same place have no earlier one. */
    final long openedAt;

    private final AtomicReference<State> state;

    /** Whom this one replaced; null once that one knows its {@link #next}. */
    private volatile @Nullable HotKey previous;

    private volatile @Nullable HotKey next;

    // A guess: what several threads write here at once may get lost.
    private long lostSince;
    private int lost;

    private HotKey(String key, @Nullable HotKey previous, long openedAt, int stripes, State state) {
        this.key = key;
        this.previous = previous;
        this.openedAt = openedAt;
        this.stripes = stripes;
        this.words = new AtomicLongArray((stripes + 2) * WORDS_PER_LINE);
        this.state = new AtomicReference<>(state);
        for (int stripe = 0; stripe < stripes; stripe++) {
            words.setPlain(index(stripe), SHUT);
        }
    }

    /** What is in a place before the first hot key: no key is empty. */
    static HotKey none() {
        return new HotKey("", null, Long.MIN_VALUE, 0, State.CLOSED);
    }

    /** One that is to replace {@code previous}. */
    static HotKey opening(String key, HotKey previous, long openedAt, int stripes) {
        return new HotKey(key, previous, openedAt, stripes, State.OPENING);
    }

    boolean isFor(String asked) {
        return stripes != 0 && key.equals(asked);
    }

    String key() {
        return key;
    }

    boolean isActive() {
        return state.get() != State.CLOSED;
    }

    boolean isOpening() {
        return state.get() == State.OPENING;
    }

    /** The owner's: fills the stripes and lets everybody in. */
    void open(long permits, long mostPerStripe) {
        long left = permits;
        for (int stripe = 0; stripe < stripes; stripe++) {
            long here = Math.min(left, mostPerStripe);
            left -= here;
            words.set(index(stripe), here);
        }
        noteFilled(openedAt);
        state.set(State.OPEN);
    }

    /** True for the one thread that has to close it. */
    boolean beginClosing() {
        return state.get() == State.OPEN && state.compareAndSet(State.OPEN, State.CLOSING);
    }

    /** The closer's: shuts the stripes for ever and returns what was in them. */
    long shut() {
        long permits = 0;
        for (int stripe = 0; stripe < stripes; stripe++) {
            long word = words.getAndSet(index(stripe), SHUT);
            permits += word < SHUT ? unmarked(word) : word;
        }
        return permits;
    }

    /** The closer's, when the permits are back. */
    void closed() {
        state.set(State.CLOSED);
    }

    /** The stripe of the calling thread. */
    int seat() {
        int id = (int) Thread.currentThread().getId() & (SEATS - 1);
        int seat = seats[id];
        if (seat == 0) {
            seat = 1 + (seated.getAndIncrement() & (stripes - 1));
            seats[id] = seat;
        }
        return seat - 1;
    }

    /** Takes permits from a stripe, if they are there. */
    boolean take(int stripe, long permits) {
        int index = index(stripe);
        for (long word = words.get(index); word >= permits; word = words.get(index)) {
            if (words.compareAndSet(index, word, word - permits)) {
                return true;
            }
        }
        return false;
    }

    /** Claims a stripe that has less than {@code permits}, and returns what it has. */
    long mark(int stripe, long permits) {
        int index = index(stripe);
        for (long word = words.get(index); word >= 0 && word < permits; word = words.get(index)) {
            if (words.compareAndSet(index, word, marked(word))) {
                return word;
            }
        }
        return NOT_MARKED;
    }

    /** Ends the claim on a stripe that had {@code left} permits; false if it was shut meanwhile, with them. */
    boolean unmark(int stripe, long left, long permits) {
        return words.compareAndSet(index(stripe), marked(left), permits);
    }

    private static long marked(long permits) {
        return SHUT - 1 - permits;
    }

    private static long unmarked(long word) {
        return SHUT - 1 - word;
    }

    /** The first line is shared with the array's length. */
    private static int index(int stripe) {
        return (stripe + 1) * WORDS_PER_LINE;
    }

    void noteFilled(long at) {
        words.setPlain(index(stripes), at);
    }

    /** Whether no stripe was filled for that long. */
    boolean isIdle(long now, long nanos) {
        return now - words.getPlain(index(stripes)) > nanos;
    }

    /** Counts a lost race for the state of a key, and returns how many there were lately. */
    int countLost(long at, long withinNanos) {
        if (at - lostSince > withinNanos) {
            lostSince = at;
            lost = 0;
        }
        return ++lost;
    }

    /** To be called before this one is replaced, so that {@link #next} is never skipped. */
    void link() {
        HotKey before = previous;
        if (before != null) {
            before.next = this;
            previous = null;
        }
    }

    /** The one that replaced this one; null if that has not been replaced in its turn. */
    @Nullable
    HotKey next() {
        return next;
    }
}
