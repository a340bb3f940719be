package io.github.reactorratelimit.operator;

import io.github.reactorratelimit.Decision;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.core.Exceptions;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;

/**
 * Limits elements in the order they arrive.
 *
 * <p>It requests one element of upstream at a time, and only while downstream wants one: while there is
 * demand, exactly one element is requested, held or being emitted. An element whose permits are available
 * passes on the thread it came on, with no atomic operation on the state and no allocation.
 */
final class OrderedSubscriber<T> extends ElementSubscriber<T> {

    private enum State {
        /** Nothing held. While permits are available, elements pass without leaving this state. */
        IDLE,
        /**
         * One element held, permits pending. The thread that leaves this state owns the element: emits or
         * discards it, once.
         */
        HOLDING,
        /** Like HOLDING, and upstream has completed. */
        HOLDING_LAST,
        /** The thread that brought the decision owns the element; only it signals downstream. */
        EMITTING,
        /** Like EMITTING, and upstream has ended: the same thread passes that on. */
        EMITTING_LAST,
        /** Terminal signal sent. */
        ENDED,
        /** Downstream cancelled. */
        CANCELLED
    }

    @SuppressWarnings("rawtypes")
    private static final AtomicReferenceFieldUpdater<OrderedSubscriber, State> STATE =
            AtomicReferenceFieldUpdater.newUpdater(OrderedSubscriber.class, State.class, "state");

    private volatile State state = State.IDLE;

    /** Written before HOLDING is entered; then it belongs to the thread that leaves it. */
    private @Nullable T held;

    /** The request of the held element; written before HOLDING is entered. */
    private @Nullable PendingRequest<Decision> pending;

    /** Written before EMITTING_LAST is entered; null if upstream completed. */
    private @Nullable Throwable error;

    OrderedSubscriber(CoreSubscriber<? super T> actual, SubscriptionTerms<T> terms, Denial<T> denial) {
        super(actual, terms, denial);
    }

    @Override
    public void request(long n) {
        if (Operators.validate(n) && addRequested(n) == 0) {
            upstream().request(1);
        }
    }

    @Override
    public void onNext(T element) {
        State seen = state;
        if (seen != State.IDLE) {
            unwanted(element, seen);
            return;
        }
        Decision decision;
        Mono<Decision> answer = null;
        try {
            String key = terms.keyOf(element);
            long cost = terms.costOf(element);
            decision = terms.decideNow(key, cost);
            if (decision == null) {
                answer = terms.acquire(key, cost, currentContext());
            }
        } catch (Throwable failure) {
            notAsked(element, failure);
            return;
        }
        if (decision == null) {
            hold(element, Objects.requireNonNull(answer));
        } else if (decision.allowed()) {
            actual.onNext(element);
            requestAfterEmission();
        } else {
            deniedAtOnce(element, decision);
        }
    }

    private void deniedAtOnce(T element, Decision decision) {
        if (STATE.compareAndSet(this, State.IDLE, State.EMITTING)) {
            denied(element, decision);
        } else {
            discard(element);
        }
    }

    private void requestAfterEmission() {
        if (countEmitted() != 0) {
            upstream().request(1);
        }
    }

    private void hold(T element, Mono<Decision> answer) {
        PendingRequest<Decision> next = new PendingRequest<>(actual, answer, this::answered, this::failed);
        held = element;
        pending = next;
        if (STATE.compareAndSet(this, State.IDLE, State.HOLDING)) {
            next.send();
        } else {
            held = null;
            discard(element);
        }
    }

    /** More than was requested, or too late. */
    private void unwanted(T element, State seen) {
        if (seen == State.CANCELLED) {
            discard(element);
        } else if (seen == State.HOLDING || seen == State.EMITTING) {
            discard(element);
            upstream().cancel();
            onError(Exceptions.failWithOverflow("the source emitted more than was requested"));
        } else {
            Operators.onNextDropped(element, currentContext());
        }
    }

    /** The key or cost function failed, or gave what the limiter refuses: nothing was taken. */
    private void notAsked(T element, Throwable failure) {
        Throwable mapped = Operators.onNextError(element, failure, currentContext(), upstream());
        discard(element);
        if (mapped == null) {
            upstream().request(1);
        } else {
            onError(mapped);
        }
    }

    @Override
    public void onError(Throwable failure) {
        for (State seen = state; ; seen = state) {
            if (seen == State.EMITTING) {
                error = failure;
                if (STATE.compareAndSet(this, State.EMITTING, State.EMITTING_LAST)) {
                    return;
                }
            } else if (seen != State.IDLE && seen != State.HOLDING) {
                Operators.onErrorDropped(failure, currentContext());
                return;
            } else if (STATE.compareAndSet(this, seen, State.ENDED)) {
                discardHeld(seen);
                actual.onError(failure);
                return;
            }
        }
    }

    @Override
    public void onComplete() {
        for (State seen = state; ; seen = state) {
            State next;
            switch (seen) {
                case IDLE -> next = State.ENDED;
                case HOLDING -> next = State.HOLDING_LAST;
                case EMITTING -> next = State.EMITTING_LAST;
                default -> {
                    return;
                }
            }
            if (STATE.compareAndSet(this, seen, next)) {
                if (next == State.ENDED) {
                    actual.onComplete();
                }
                return;
            }
        }
    }

    @Override
    public void cancel() {
        State left = leave(State.CANCELLED);
        if (left != State.CANCELLED && left != State.ENDED) {
            upstream().cancel();
            discardHeld(left);
        }
    }

    /** Moves to a last state unless it is in one already; returns the state before. */
    private State leave(State last) {
        for (; ; ) {
            State seen = state;
            if (seen == State.CANCELLED || seen == State.ENDED || STATE.compareAndSet(this, seen, last)) {
                return seen;
            }
        }
    }

    /** Called by the thread that left {@code left} for a last state. */
    private void discardHeld(State left) {
        if (holds(left)) {
            T element = Objects.requireNonNull(held);
            held = null;
            Objects.requireNonNull(pending).cancel();
            discard(element);
        }
    }

    private void answered(Decision decision) {
        T element = takeHeld();
        if (element == null) {
            terms.refund(decision);
        } else if (decision.allowed()) {
            emit(element);
        } else {
            denied(element, decision);
        }
    }

    private boolean failed(Throwable failure) {
        T element = takeHeld();
        if (element != null) {
            upstream().cancel();
            discard(element);
            fail(failure);
        }
        return element != null;
    }

    /** The held element, for the caller to emit or discard; null if another thread took it. */
    private @Nullable T takeHeld() {
        for (State seen = state; holds(seen); seen = state) {
            State next = seen == State.HOLDING ? State.EMITTING : State.EMITTING_LAST;
            if (STATE.compareAndSet(this, seen, next)) {
                T element = held;
                held = null;
                return element;
            }
        }
        return null;
    }

    /** In EMITTING. */
    @Override
    void emit(T element) {
        actual.onNext(element);
        moveOn(true);
    }

    @Override
    void skip() {
        moveOn(false);
    }

    /** Ends EMITTING with an error. */
    @Override
    void fail(Throwable failure) {
        State left = leave(State.ENDED);
        if (left == State.CANCELLED) {
            dropUnlessFromLimiter(failure);
        } else if (left == State.EMITTING_LAST && error != null) {
            actual.onError(Exceptions.addSuppressed(failure, error));
        } else {
            actual.onError(failure);
        }
    }

    /** Ends EMITTING. */
    private void moveOn(boolean emitted) {
        if (STATE.compareAndSet(this, State.EMITTING, State.IDLE)) {
            if (emitted) {
                requestAfterEmission();
            } else {
                upstream().request(1);
            }
        } else if (STATE.compareAndSet(this, State.EMITTING_LAST, State.ENDED)) {
            if (error == null) {
                actual.onComplete();
            } else {
                actual.onError(error);
            }
        }
    }

    private static boolean holds(State state) {
        return state == State.HOLDING || state == State.HOLDING_LAST;
    }

    @Override
    int held() {
        return holds(state) ? 1 : 0;
    }

    @Override
    boolean isCancelled() {
        return state == State.CANCELLED;
    }

    @Override
    boolean isEnded() {
        return state == State.ENDED;
    }
}
