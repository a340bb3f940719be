package io.github.reactorratelimit.queue;

import io.github.reactorratelimit.Saturated;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.Scannable;
import reactor.core.publisher.Operators;

/**
 * One request and its subscriber. It joins a queue when it is first requested. From then on one atomic move decides who
 * ends the wait: the queue by an answer, or the subscriber by a cancel. After a cancel nothing is signalled.
 *
 * @param <R> what is requested
 */
public abstract class Waiter<R extends QueuedRequest> implements Subscription, Scannable, Runnable {

    /** As {@link #state}. Subscribed, nothing requested yet: not in a queue. */
    private static final int SUBSCRIBED = 0;

    /** Joining, on the thread that requested. Leaves this state like WAITING, but that thread leaves the queue after a cancel. */
    private static final int JOINING = 1;

    /** In a queue. The one who leaves this state ends the wait: the queue by an answer, the subscriber by a cancel. */
    private static final int WAITING = 2;

    /** Answered while JOINING: the thread that requested delivers it, unless the subscriber cancels first. */
    private static final int ANSWERED_AT_ONCE = 3;

    /** Answered. The one who leaves this state owns the answer: delivers it, or gives it back. */
    private static final int ANSWERED = 4;

    /** Answer delivered. */
    private static final int DONE = 5;

    /** The subscriber cancelled. */
    private static final int CANCELLED = 6;

    /** As {@link #dueAt}: not known. */
    static final long NOT_DUE = Long.MIN_VALUE;

    @SuppressWarnings("rawtypes")
    private static final AtomicIntegerFieldUpdater<Waiter> STATE =
            AtomicIntegerFieldUpdater.newUpdater(Waiter.class, "state");

    private final QueueRuntime runtime;
    private final CoreSubscriber<Object> actual;
    private final R request;
    private final long permits;
    private volatile int state = SUBSCRIBED;

    /** The answer: what was granted, a denial or an error. Written before the answered states, read after them. */
    private @Nullable Object answer;

    /** Written when it joins, before its queue sees it. */
    long arrivedAt;

    /** The maximum wait until it arrives, then the time at which the wait ends. */
    private long notAfter;

    /** Whether it joined a queue: then it is pending until it departs. */
    boolean joined;

    /** The fields below belong to the drain loop of the queue. Whether it is in the list of waiters, and its neighbours there. */
    boolean linked;

    @Nullable
    Waiter<R> previous;

    @Nullable
    Waiter<R> next;

    /** Its place in the order of arrival; 0 until the queue has seen it. */
    long sequence;

    /** When its grant is due, where that is known. */
    long dueAt = NOT_DUE;

    protected Waiter(QueueRuntime runtime, CoreSubscriber<Object> actual, R request, long permits, long maxWaitNanos) {
        this.runtime = runtime;
        this.actual = actual;
        this.request = request;
        this.permits = permits;
        this.notAfter = maxWaitNanos;
    }

    /** Joins a queue, or {@linkplain #claim answers} at once. On the thread that requested. */
    protected abstract void join();

    /** Leaves the queue, if it joined one: the subscriber cancelled. */
    protected abstract void leave();

    /** Before an answer that is no error is delivered. */
    protected void delivering(Object delivered) {}

    /** What is requested. */
    public final R request() {
        return request;
    }

    /** Permits that it needs. */
    public final long permits() {
        return permits;
    }

    /** The time at which the wait ends; {@link Long#MAX_VALUE} if it has no end. */
    public final long notAfter() {
        return notAfter;
    }

    /** Whether its wait has an end. */
    public final boolean hasDeadline() {
        return notAfter != Long.MAX_VALUE;
    }

    /** Whether it is in its queue. Of the queue's drain loop. */
    public final boolean isLinked() {
        return linked;
    }

    /** Its grant was due at this time. Of the queue's drain loop. */
    public final void dueAt(long time) {
        dueAt = time;
    }

    /** It arrives now, and its maximum wait begins. */
    protected final void arriveAt(long now) {
        arrivedAt = now;
        notAfter = Saturated.plus(now, notAfter);
    }

    /** Whether it was neither answered nor cancelled. */
    final boolean isWaiting() {
        int now = state;
        return now == WAITING || now == JOINING;
    }

    @Override
    public final void request(long n) {
        if (Operators.validate(n) && STATE.compareAndSet(this, SUBSCRIBED, JOINING)) {
            join();
            if (STATE.compareAndSet(this, JOINING, WAITING)) {
                return;
            }
            if (STATE.compareAndSet(this, ANSWERED_AT_ONCE, DONE)) {
                deliver();
            } else {
                leave();
            }
        }
    }

    /** Answers; false if the subscriber cancelled first: then the caller still owns what was granted. */
    protected final boolean claim(Object given) {
        answer = given;
        while (isWaiting()) {
            if (STATE.compareAndSet(this, JOINING, ANSWERED_AT_ONCE)) {
                return true;
            }
            if (STATE.compareAndSet(this, WAITING, ANSWERED)) {
                runtime.add(this);
                return true;
            }
        }
        return false;
    }

    /** Delivers the answer: runs the subscriber's code, on a thread that grants nothing. */
    @Override
    public final void run() {
        if (STATE.compareAndSet(this, ANSWERED, DONE)) {
            deliver();
        }
    }

    private void deliver() {
        try {
            if (answer instanceof Throwable failure) {
                actual.onError(failure);
            } else if (answer != null) {
                delivering(answer);
                actual.onNext(answer);
                actual.onComplete();
            }
        } finally {
            departed();
        }
    }

    @Override
    public final void cancel() {
        int before = STATE.getAndUpdate(this, current -> current == DONE ? current : CANCELLED);
        if (before == WAITING) {
            leave();
        } else if (before == ANSWERED || before == ANSWERED_AT_ONCE) {
            if (answer != null && !(answer instanceof Throwable)) {
                request.giveBack(answer);
            }
            departed();
        }
    }

    private void departed() {
        if (joined) {
            runtime.departed();
        }
    }

    @Override
    @SuppressWarnings("rawtypes")
    public final @Nullable Object scanUnsafe(Attr attribute) {
        if (attribute == Attr.ACTUAL) {
            return actual;
        }
        if (attribute == Attr.CANCELLED) {
            return state == CANCELLED;
        }
        if (attribute == Attr.TERMINATED) {
            return state == DONE;
        }
        return attribute == Attr.RUN_STYLE ? Attr.RunStyle.ASYNC : null;
    }
}
