package io.github.reactorratelimit.fairness;

import org.jspecify.annotations.Nullable;

/**
 * The calls of one tenant in one class, in order of arrival; anyone can leave in constant time. It exists while there is one.
 *
 * <p>A call of cost c and weight w takes c/w of virtual time, from where the one before ended. Times are whole numbers of
 * {@link #UNIT}; what a division leaves over is carried on, so that they are never off by one.
 */
final class TenantLine {

    /** One permit at weight 1, in virtual time. */
    static final long UNIT = 1L << 20;

    final String tenant;

    @Nullable
    FairCall first;

    private @Nullable FairCall last;
    private int size;

    /** When the first call begins, in virtual time. */
    private long start;

    /** What the divisions so far left over, in parts of {@link #overWeight}. */
    private long over;

    private long overWeight = 1;

    /** When the first call ends. */
    private long finish;

    private long overAtFinish;

    TenantLine(String tenant, long start) {
        this.tenant = tenant;
        this.start = start;
    }

    int size() {
        return size;
    }

    long finish() {
        return finish;
    }

    /** When the first call came: of two that end at the same time the older goes first. */
    long sequence() {
        return first == null ? Long.MAX_VALUE : first.sequence;
    }

    void add(FairCall call) {
        call.previous = last;
        if (last == null) {
            first = call;
        } else {
            last.next = call;
        }
        last = call;
        size++;
        if (first == call) {
            plan(call);
        }
    }

    private void plan(FairCall head) {
        long carried = head.weight == overWeight ? over : 0;
        long amount = head.terms.permits() * UNIT + carried;
        finish = start + amount / head.weight;
        overAtFinish = amount % head.weight;
    }

    /** The first call was served; those behind begin where it ended. */
    void served() {
        FairCall head = first;
        if (head != null) {
            start = finish;
            over = overAtFinish;
            overWeight = head.weight;
            unlink(head);
            if (first != null) {
                plan(first);
            }
        }
    }

    /**
     * The call left. Those behind the first move up to where it began: a tenant that gives calls up loses nothing. Nor does it win:
     * it was served nothing meanwhile, and what it is behind by is at most what the first had asked for. If they began later, two who both wait could
     * come to be further apart than one call each.
     */
    void remove(FairCall call) {
        boolean wasFirst = first == call;
        unlink(call);
        if (wasFirst && first != null) {
            plan(first);
        }
    }

    private void unlink(FairCall call) {
        FairCall before = call.previous;
        FairCall after = call.next;
        if (before == null) {
            first = after;
        } else {
            before.next = after;
        }
        if (after == null) {
            last = before;
        } else {
            after.previous = before;
        }
        call.previous = null;
        call.next = null;
        size--;
    }

    /** Counts virtual time from another moment on. */
    void rebase(long by) {
        start -= by;
        finish -= by;
    }
}
