package io.github.reactorratelimit.fairness;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The calls that wait, and which is next. The first class that has calls goes before the others; but a lower class is due, and goes
 * first, once the others were served so many permits while it waited that its next call makes up one part in {@code every}. What a
 * class was passed over for is forgotten when it has no calls: nothing is saved up.
 *
 * <p>Owned by the queue's drain loop, but for {@link #size(int)}.
 */
final class FairQueue {

    private final FairClass[] classes;

    /** By class: permits that went to other classes while it waited, less what it was served for that. */
    private final long[] passedOver;

    private final long every;
    private final int maxPerClass;
    private final int maxPerTenant;

    private final Map<RequestedPermits, Integer> calls = new HashMap<>();

    /** @param every a lower class gets at least one permit in so many while it waits */
    FairQueue(int classes, long every, int maxPerClass, int maxPerTenant) {
        this.classes = new FairClass[classes];
        for (int rank = 0; rank < classes; rank++) {
            this.classes[rank] = new FairClass();
        }
        this.passedOver = new long[classes];
        this.every = every;
        this.maxPerClass = maxPerClass;
        this.maxPerTenant = maxPerTenant;
    }

    /** Of any thread. */
    int size(int rank) {
        return classes[rank].size();
    }

    /** Whether the call is one too many. */
    boolean isOverfullBy(FairCall call) {
        FairClass own = classes[call.rank];
        return own.size() > maxPerClass || own.sizeOf(call.tenant) > maxPerTenant;
    }

    /** Whether all calls request the same. */
    boolean isUniform() {
        return calls.size() == 1;
    }

    void add(FairCall call) {
        classes[call.rank].add(call);
        calls.merge(call.requested, 1, Integer::sum);
    }

    /** The call left. One that was served, the first of its tenant, had its turn. */
    void remove(FairCall call, boolean served) {
        if (served) {
            removeServed(call);
        } else {
            removeUnserved(call);
        }
        calls.computeIfPresent(call.requested, (permits, count) -> count == 1 ? null : count - 1);
        for (int rank = 0; rank < classes.length; rank++) {
            if (classes[rank].size() == 0) {
                passedOver[rank] = 0;
            }
        }
    }

    /** What its class was passed over for counts for the next one, up to its permits. */
    private void removeUnserved(FairCall call) {
        FairClass own = classes[call.rank];
        boolean wasNext = own.first() == call;
        own.remove(call);
        FairCall next = own.first();
        if (wasNext && next != null) {
            passedOver[call.rank] = Math.min(passedOver[call.rank], (every - 1) * next.permits());
        }
    }

    private void removeServed(FairCall call) {
        long permits = call.permits();
        passedOver[call.rank] = Math.max(0, passedOver[call.rank] - (every - 1) * permits);
        for (int other = 1; other < classes.length; other++) {
            passedOver[other] += other == call.rank ? 0 : permits;
        }
        classes[call.rank].served(call);
    }

    /** The call that is next. */
    @Nullable
    FairCall first() {
        FairCall top = null;
        for (int rank = 0; rank < classes.length; rank++) {
            FairCall first = classes[rank].first();
            if (first != null) {
                if (top == null) {
                    top = first;
                } else if (passedOver[rank] >= (every - 1) * first.permits()) {
                    return first;
                }
            }
        }
        return top;
    }

    /** The next of the calls that request this. */
    @Nullable
    FairCall nextOf(RequestedPermits permits) {
        FairCall next = first();
        if (next == null || next.requested.equals(permits)) {
            return next;
        }
        for (FairClass each : classes) {
            FairCall first = each.firstOf(permits);
            if (first != null) {
                return first;
            }
        }
        return null;
    }
}
