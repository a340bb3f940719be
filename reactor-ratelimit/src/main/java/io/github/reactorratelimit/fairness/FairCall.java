package io.github.reactorratelimit.fairness;

import io.github.reactorratelimit.queue.KeyQueue;
import io.github.reactorratelimit.queue.QueueRuntime;
import io.github.reactorratelimit.queue.Waiter;
import java.util.function.BiConsumer;
import reactor.core.CoreSubscriber;

/** One call that waits for permits, and its subscriber. */
final class FairCall extends Waiter<Object> {

    private final KeyQueue<FairCall, ?> queue;
    private final BiConsumer<RequestedPermits, Object> giveBack;
    private final long until;

    final String tenant;

    /** 0 for the class that goes first. */
    final int rank;

    final RequestedPermits requested;
    final long weight;

    /** The order of arrival in its class; the class's. */
    long order;

    /** Written before it is answered: whether by a grant, not by a denial. */
    private boolean granted;

    /** @param giveBack takes a grant that the subscriber did not receive */
    FairCall(
            KeyQueue<FairCall, ?> queue,
            QueueRuntime runtime,
            CoreSubscriber<? super Object> actual,
            Request request,
            BiConsumer<RequestedPermits, Object> giveBack) {
        super(runtime, actual, request.permits().permits(), Long.MAX_VALUE);
        this.queue = queue;
        this.giveBack = giveBack;
        this.until = request.notAfter();
        this.tenant = request.tenant();
        this.rank = request.rank();
        this.requested = request.permits();
        this.weight = request.weight();
    }

    /** What one subscriber requests. */
    record Request(String tenant, int rank, RequestedPermits permits, long weight, long notAfter) {}

    @Override
    protected void join() {
        arriveAt(queue.now(), until);
        joining();
        queue.join(this);
    }

    @Override
    protected void leave() {
        queue.leave(this);
    }

    /** Of the queue's drain loop. */
    boolean grant(Object permits) {
        granted = true;
        return claim(permits);
    }

    @Override
    protected void refund(Object undelivered) {
        if (granted) {
            giveBack.accept(requested, undelivered);
        }
    }
}
