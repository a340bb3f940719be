package io.github.reactorratelimit.fairness;

import io.github.reactorratelimit.queue.Waiter;
import reactor.core.CoreSubscriber;

/** One call that waits for permits, and its subscriber. */
final class FairCall extends Waiter<Object> {

    private final FairKeyQueue queue;
    private final long until;

    final String tenant;

    /** 0 for the class that goes first. */
    final int rank;

    final Terms terms;
    final long weight;

    /** The order of arrival in its class; the class's. */
    long order;

    /** Written before it is answered: whether by a grant, not by a denial. */
    private boolean granted;

    FairCall(FairKeyQueue queue, CoreSubscriber<? super Object> actual, Request request) {
        super(queue.runtime(), actual, request.terms().permits(), Long.MAX_VALUE);
        this.queue = queue;
        this.until = request.notAfter();
        this.tenant = request.tenant();
        this.rank = request.rank();
        this.terms = request.terms();
        this.weight = request.weight();
    }

    /** What one subscriber requests. */
    record Request(String tenant, int rank, Terms terms, long weight, long notAfter) {}

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
            queue.giveBack(terms, undelivered);
        }
    }
}
