package io.github.reactorratelimit.waiting;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitRecorder;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.Scannable;
import reactor.core.publisher.Operators;

/**
 * One request for permits and its subscriber. It asks when it is first requested; from then on one
 * atomic move decides who answers it: the line, or the subscriber who leaves.
 */
final class Waiter implements Subscription, Scannable, Runnable {

    enum State {
        /** Subscribed, nothing requested yet: not in line. */
        SUBSCRIBED,
        /** Asking. Whoever leaves this state answers: the line by a decision or an error, the subscriber by leaving. */
        WAITING,
        /** Answered. Whoever leaves this state owns the answer: delivers it, or gives its permits back. */
        ANSWERED,
        /** Answer delivered. */
        DONE,
        /** The subscriber left. */
        CANCELLED
    }

    /** As {@link #slotAt}. */
    static final long NO_SLOT = Long.MIN_VALUE;

    private final WaitingRoom<?> room;
    private final Place place;
    private final CoreSubscriber<? super Decision> actual;
    private final AtomicReference<State> state = new AtomicReference<>(State.SUBSCRIBED);

    final long permits;
    private final long maxWaitNanos;

    /** Written before {@link State#ANSWERED}, read after it. */
    private @Nullable Decision decision;

    private @Nullable Throwable error;

    /** Written when it joins, before its line sees it. */
    long arrivedAt;

    long notAfter;

    /** When its turn was, where that was known before it came; the line's, until it answers. */
    long slotAt = NO_SLOT;

    /** The links belong to the drain loop of the line. */
    @Nullable
    Waiter previous;

    @Nullable
    Waiter next;

    boolean linked;

    /** Whether the line has looked at it; one that left before that was only ever in the mailbox. */
    boolean admitted;

    long sequence;

    Waiter(WaitingRoom<?> room, Place place, CoreSubscriber<? super Decision> actual, long permits, long maxWaitNanos) {
        this.room = room;
        this.place = place;
        this.actual = actual;
        this.permits = permits;
        this.maxWaitNanos = maxWaitNanos;
    }

    @Override
    public void request(long n) {
        if (Operators.validate(n) && state.compareAndSet(State.SUBSCRIBED, State.WAITING)) {
            place.ask(this);
        }
    }

    void arriveAt(long now) {
        arrivedAt = now;
        notAfter = now > Long.MAX_VALUE - maxWaitNanos ? Long.MAX_VALUE : now + maxWaitNanos;
    }

    boolean hasDeadline() {
        return notAfter != Long.MAX_VALUE;
    }

    boolean isWaiting() {
        return state.get() == State.WAITING;
    }

    /** Answers on the subscriber's own thread; a grant that nobody awaits any more is given back. */
    void answerAtOnce(Decision answer) {
        decision = answer;
        if (state.compareAndSet(State.WAITING, State.ANSWERED)) {
            deliver();
        } else {
            giveBack(answer);
        }
    }

    /** Fails on the subscriber's own thread. */
    void failAtOnce(Throwable cause) {
        error = cause;
        if (state.compareAndSet(State.WAITING, State.ANSWERED)) {
            deliver();
        }
    }

    /** False if the subscriber left first: then the caller still owns what the decision took. */
    boolean answer(Decision answer) {
        decision = answer;
        return handOver();
    }

    /** False if the subscriber left first. */
    boolean fail(Throwable cause) {
        error = cause;
        return handOver();
    }

    private boolean handOver() {
        boolean first = state.compareAndSet(State.WAITING, State.ANSWERED);
        if (first) {
            room.signal(this);
        }
        return first;
    }

    /** Runs the subscriber's code, on a thread that grants nothing. */
    @Override
    public void run() {
        try {
            if (decision != null) {
                decision.debit().ifPresent(place::told);
            }
            deliver();
        } finally {
            room.departed();
        }
    }

    private void deliver() {
        if (!state.compareAndSet(State.ANSWERED, State.DONE)) {
            return;
        }
        if (error != null) {
            actual.onError(error);
        } else if (decision != null) {
            recordLateness(decision);
            actual.onNext(decision);
            actual.onComplete();
        }
    }

    private void recordLateness(Decision answer) {
        if (slotAt != NO_SLOT && answer.allowed() && room.recorder() != RateLimitRecorder.NOOP) {
            room.recorder().toldLate(Math.max(0, place.now() - slotAt));
        }
    }

    @Override
    public void cancel() {
        State before = state.getAndUpdate(current -> current == State.DONE ? current : State.CANCELLED);
        if (before == State.WAITING) {
            place.leave(this);
        } else if (before == State.ANSWERED && decision != null) {
            giveBack(decision);
        }
    }

    private void giveBack(Decision answer) {
        Debit debit = answer.debit().orElse(null);
        if (debit != null && debit.claim()) {
            place.giveBack(debit);
        }
    }

    @Override
    @SuppressWarnings("rawtypes")
    public @Nullable Object scanUnsafe(Attr attribute) {
        if (attribute == Attr.ACTUAL) {
            return actual;
        }
        if (attribute == Attr.CANCELLED) {
            return state.get() == State.CANCELLED;
        }
        if (attribute == Attr.TERMINATED) {
            return state.get() == State.DONE;
        }
        return attribute == Attr.RUN_STYLE ? Attr.RunStyle.ASYNC : null;
    }
}
