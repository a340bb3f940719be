package io.github.reactorratelimit.queue;

import io.github.reactorratelimit.Saturated;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.Scannable;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;

/**
 * One request for permits and its subscriber. It joins a queue when it is first requested. From then on one atomic move
 * decides who ends the wait: the queue by an answer, or the subscriber by a cancel. After a cancel nothing is signalled.
 *
 * @param <T> what is granted
 */
public abstract class Waiter<T> implements Subscription, Scannable, Runnable {

    private enum State {
        /** Subscribed, nothing requested yet: not in a queue. */
        SUBSCRIBED,
        /** Joining, on the thread that requested. Leaves this state like WAITING. */
        JOINING,
        /** In a queue. The one who leaves this state ends the wait: the queue by an answer, the subscriber by a cancel. */
        WAITING,
        /** Answered while JOINING: the thread that requested delivers it, unless the subscriber cancels first. */
        ANSWERED_AT_ONCE,
        /** Answered. The one who leaves this state owns the answer: delivers it, or refunds it. */
        ANSWERED,
        /** Answer delivered. */
        DONE,
        /** The subscriber cancelled. */
        CANCELLED
    }

    /** As {@link #dueAt}: not known. */
    static final long NOT_DUE = Long.MIN_VALUE;

    @SuppressWarnings("rawtypes")
    private static final AtomicReferenceFieldUpdater<Waiter, State> STATE =
            AtomicReferenceFieldUpdater.newUpdater(Waiter.class, State.class, "state");

    private final QueueRuntime runtime;
    private final CoreSubscriber<? super T> actual;
    private volatile State state = State.SUBSCRIBED;

    private final long permits;

    /** The answer: what was granted, a denial or an error. Written before the answered states, read after them. */
    private @Nullable Object answer;

    /** Written when it joins, before its queue sees it. */
    long arrivedAt;

    /** The maximum wait until it joins, then the time at which the wait ends. */
    private long notAfter;

    /** Whether it joined a queue: then it is pending until it departs. */
    private boolean joined;

    /** The fields below belong to the drain loop of the queue. When its grant is due, where that is known. */
    long dueAt = NOT_DUE;

    @Nullable
    Waiter<?> previous;

    @Nullable
    Waiter<?> next;

    boolean linked;

    long sequence;

    protected Waiter(QueueRuntime runtime, CoreSubscriber<? super T> actual, long permits, long maxWaitNanos) {
        this.runtime = runtime;
        this.actual = actual;
        this.permits = permits;
        this.notAfter = maxWaitNanos;
    }

    /** A waiter for each subscriber. */
    public static <T> Mono<T> mono(Function<CoreSubscriber<? super T>, Waiter<T>> waiters) {
        return new Mono<>() {
            @Override
            public void subscribe(CoreSubscriber<? super T> actual) {
                actual.onSubscribe(waiters.apply(actual));
            }
        };
    }

    /** Joins a queue, or {@linkplain #claim answers} at once. On the thread that requested. */
    protected abstract void join();

    /** Leaves the queue: the subscriber cancelled. */
    protected abstract void leave();

    /** Gives back an answer that was not delivered. */
    protected abstract void refund(T undelivered);

    /** Before the answer is delivered. */
    protected void delivering(T delivered) {}

    /** Permits that it needs. */
    public final long permits() {
        return permits;
    }

    /** The time at which the wait ends; {@link Long#MAX_VALUE} if it has no end. */
    public final long notAfter() {
        return notAfter;
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
        arriveAt(now, Saturated.plus(now, notAfter));
    }

    /** It arrives now, and its wait ends at {@code until}. */
    protected final void arriveAt(long now, long until) {
        arrivedAt = now;
        notAfter = until;
    }

    /** It is about to join a queue, and pending from now on. */
    protected final void joining() {
        joined = true;
        runtime.joined();
        runtime.recorder().queueChanged(1);
    }

    final boolean hasJoined() {
        return joined;
    }

    /** Whether its wait has an end. */
    public final boolean hasDeadline() {
        return notAfter != Long.MAX_VALUE;
    }

    final boolean isWaiting() {
        State now = state;
        return now == State.WAITING || now == State.JOINING;
    }

    @Override
    public final void request(long n) {
        if (Operators.validate(n) && STATE.compareAndSet(this, State.SUBSCRIBED, State.JOINING)) {
            join();
            if (!STATE.compareAndSet(this, State.JOINING, State.WAITING)
                    && STATE.compareAndSet(this, State.ANSWERED_AT_ONCE, State.DONE)) {
                deliver();
            }
        }
    }

    /** Answers; false if the subscriber cancelled first: then the caller still owns what was granted. */
    protected final boolean claim(Object given) {
        answer = given;
        while (isWaiting()) {
            if (STATE.compareAndSet(this, State.JOINING, State.ANSWERED_AT_ONCE)) {
                return true;
            }
            if (STATE.compareAndSet(this, State.WAITING, State.ANSWERED)) {
                runtime.dispatcher().add(this);
                return true;
            }
        }
        return false;
    }

    /** Delivers the answer: runs the subscriber's code, on a thread that grants nothing. */
    @Override
    public final void run() {
        if (STATE.compareAndSet(this, State.ANSWERED, State.DONE)) {
            deliver();
        }
    }

    private void deliver() {
        try {
            if (answer instanceof Throwable failure) {
                actual.onError(failure);
            } else if (answer != null) {
                T given = given(answer);
                delivering(given);
                actual.onNext(given);
                actual.onComplete();
            }
        } finally {
            departed();
        }
    }

    @SuppressWarnings("unchecked")
    private T given(Object answered) {
        return (T) answered;
    }

    @Override
    public final void cancel() {
        State before = STATE.getAndUpdate(this, current -> current == State.DONE ? current : State.CANCELLED);
        if (before == State.WAITING || before == State.JOINING) {
            leave();
        } else if (before == State.ANSWERED || before == State.ANSWERED_AT_ONCE) {
            if (answer != null && !(answer instanceof Throwable)) {
                refund(given(answer));
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
            return state == State.CANCELLED;
        }
        if (attribute == Attr.TERMINATED) {
            return state == State.DONE;
        }
        return attribute == Attr.RUN_STYLE ? Attr.RunStyle.ASYNC : null;
    }
}
