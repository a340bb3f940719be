package io.github.reactorratelimit.fairness;

import java.util.LinkedHashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The calls of one tenant in one class, in order of arrival; anyone can leave in constant time. It exists while there is one.
 *
 * <p>A call of cost c and weight w takes c/w of virtual time, from where the one before ended. Times are whole numbers of
 * {@link #UNIT}; what a division leaves over is carried on, so that they are never off by one.
 */
final class TenantQueue {

    /** One permit at weight 1, in virtual time. */
    static final long UNIT = 1L << 20;

    final String tenant;

    private final Set<FairCall> calls = new LinkedHashSet<>();

    /** When the first call begins, in virtual time. */
    private long start;

    /** What the divisions so far left over, in parts of {@link #overWeight}. */
    private long over;

    private long overWeight = 1;

    /** When the first call ends. */
    private long finish;

    private long overAtFinish;

    TenantQueue(String tenant, long start) {
        this.tenant = tenant;
        this.start = start;
    }

    @Nullable
    FairCall first() {
        return calls.isEmpty() ? null : calls.iterator().next();
    }

    int size() {
        return calls.size();
    }

    long finish() {
        return finish;
    }

    /** When the first call came: of two that end at the same time the older goes first. */
    long sequence() {
        FairCall first = first();
        return first == null ? Long.MAX_VALUE : first.order;
    }

    void add(FairCall call) {
        calls.add(call);
        if (first() == call) {
            plan(call);
        }
    }

    private void plan(FairCall head) {
        long carried = head.weight == overWeight ? over : 0;
        long amount = head.permits() * UNIT + carried;
        finish = start + amount / head.weight;
        overAtFinish = amount % head.weight;
    }

    /** The first call was served; those behind begin where it ended. */
    void served() {
        FairCall head = first();
        if (head != null) {
            start = finish;
            over = overAtFinish;
            overWeight = head.weight;
            remove(head);
        }
    }

    /**
     * The call left. Those behind the first move up to where it began: a tenant that gives calls up loses nothing. Nor does it win:
     * it was served nothing meanwhile, and what it is behind by is at most what the first had asked for. If they began later, two who both wait could
     * come to be further apart than one call each.
     */
    void remove(FairCall call) {
        boolean wasFirst = first() == call;
        calls.remove(call);
        FairCall next = first();
        if (wasFirst && next != null) {
            plan(next);
        }
    }

    /** Counts virtual time from another moment on. */
    void rebase(long by) {
        start -= by;
        finish -= by;
    }
}
