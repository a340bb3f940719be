package io.github.reactorratelimit.fairness;

import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The calls of one class, fairly shared between its tenants: self-clocked fair queueing. Each tenant's first call has a virtual
 * finish; the least of them goes next, and virtual time is then what that finish was. A tenant that comes begins now, in virtual time. So
 *
 * <ul>
 *   <li>two tenants that both wait are never further apart than one call each: in any stretch of time, what each got by its weight
 *       differs by at most the largest call of the one by its weight and the largest call of the other by its weight;
 *   <li>a tenant that was away has saved nothing, because it begins now; and owes nothing, because what it was served for ended by now. So a tenant
 *       without calls needs no state, and has none;
 *   <li>a call can be overtaken only by calls that end before it does: each of them moves virtual time towards its end.
 * </ul>
 *
 * <p>Virtual time never runs backwards, and lies between where each tenant's first call begins and where its largest would end. Owned by
 * the queue's drain loop, but for the size.
 */
final class FairClass {

    /** Far below overflow: one call adds at most 2^60. */
    private static final long REBASE_ABOVE = 1L << 60;

    private final Map<String, TenantQueue> tenants = new HashMap<>();

    /** By virtual finish of the first call. */
    private final TreeSet<TenantQueue> inOrder =
            new TreeSet<>(Comparator.comparingLong(TenantQueue::finish).thenComparingLong(TenantQueue::sequence));

    private long virtualNow;
    private long arrivals;

    /** Written by the owner, read by all. */
    private volatile int size;

    int size() {
        return size;
    }

    int sizeOf(String tenant) {
        TenantQueue queue = tenants.get(tenant);
        return queue == null ? 0 : queue.size();
    }

    /** Tenants that have calls; nothing is kept of others. */
    int tenants() {
        return tenants.size();
    }

    @Nullable
    FairCall first() {
        return inOrder.isEmpty() ? null : inOrder.first().first();
    }

    /** The one that goes first of those that are the first of their tenant and request this. */
    @Nullable
    FairCall firstOf(RequestedPermits permits) {
        for (TenantQueue queue : inOrder) {
            FairCall first = queue.first();
            if (first != null && first.requested.equals(permits)) {
                return first;
            }
        }
        return null;
    }

    void add(FairCall call) {
        call.order = arrivals++;
        TenantQueue queue = tenants.computeIfAbsent(call.tenant, name -> new TenantQueue(name, virtualNow));
        queue.add(call);
        if (queue.first() == call) {
            inOrder.add(queue);
        }
        resize(size + 1);
    }

    void remove(FairCall call) {
        TenantQueue queue = tenants.get(call.tenant);
        if (queue != null) {
            boolean wasFirst = queue.first() == call;
            if (wasFirst) {
                inOrder.remove(queue);
            }
            queue.remove(call);
            if (wasFirst) {
                replace(queue);
            }
            resize(size - 1);
        }
    }

    /** The call, the first of its tenant, has what it requested. */
    void served(FairCall call) {
        TenantQueue queue = tenants.get(call.tenant);
        if (queue != null && queue.first() == call) {
            inOrder.remove(queue);
            long ended = queue.finish();
            queue.served();
            replace(queue);
            // One that was served ahead of its time must not push virtual time past the calls that wait.
            long reached =
                    inOrder.isEmpty() ? ended : Math.min(ended, inOrder.first().finish());
            virtualNow = Math.max(virtualNow, reached);
            rebase();
            resize(size - 1);
        }
    }

    private void replace(TenantQueue queue) {
        if (queue.first() == null) {
            tenants.remove(queue.tenant);
        } else {
            inOrder.add(queue);
        }
    }

    private void resize(int calls) {
        size = calls;
        if (calls == 0) {
            virtualNow = 0;
        }
    }

    private void rebase() {
        if (virtualNow > REBASE_ABOVE) {
            long by = virtualNow;
            virtualNow = 0;
            tenants.values().forEach(queue -> queue.rebase(by));
        }
    }
}
