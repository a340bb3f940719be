package io.github.reactorratelimit.operator;

import io.github.reactorratelimit.Decision;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;

/**
 * One element that waits while others may overtake it. It is ready once two things have happened: its own
 * request was answered, and the element of the same key before it went ahead.
 */
final class HeldElement<T> implements Disposable {

    private enum State {
        /** No answer yet. */
        WAITING,
        /** Answered; {@code decision} or {@code failure} is set. */
        ANSWERED,
        /**
         * Taken or discarded. The thread that moved here from another state owns the element and its permits.
         */
        GONE
    }

    /** Follows an element that went ahead: no other can queue behind it any more. */
    private static final Object WENT_AHEAD = new Object();

    private final ElementSubscriber<T> parent;
    private final ReadyQueue<T> ready;
    private final T element;
    private final PendingRequest<Decision> request;
    private final AtomicReference<State> state = new AtomicReference<>(State.WAITING);
    private final AtomicInteger missing = new AtomicInteger(2);
    private final AtomicReference<@Nullable Object> follower = new AtomicReference<>();
    private @Nullable Decision decision;
    private @Nullable Throwable failure;

    HeldElement(ElementSubscriber<T> parent, ReadyQueue<T> ready, T element, Mono<Decision> answer) {
        this.parent = parent;
        this.ready = ready;
        this.element = element;
        this.request = new PendingRequest<>(parent.actual, answer, this::answered, this::failed);
    }

    /** Requests the permits. */
    void send() {
        request.send();
    }

    /** Where elements go when they are ready, from any thread. */
    interface ReadyQueue<T> {

        /** Queues it for emission. */
        void add(HeldElement<T> element);

        /** Emits what is queued, on this thread or the one that emits already. */
        void drain();
    }

    /**
     * Queues behind the last element of the key, if there is one that did not go ahead yet. Called once,
     * before {@link #send}.
     */
    void queueBehind(@Nullable HeldElement<T> last) {
        if (last == null || !last.follower.compareAndSet(null, this)) {
            missing.decrementAndGet();
        }
    }

    boolean wentAhead() {
        return follower.get() == WENT_AHEAD;
    }

    private void answered(Decision answer) {
        decision = answer;
        if (state.compareAndSet(State.WAITING, State.ANSWERED)) {
            arrive();
        } else {
            parent.terms.refund(answer);
        }
    }

    private boolean failed(Throwable cause) {
        failure = cause;
        boolean waited = state.compareAndSet(State.WAITING, State.ANSWERED);
        if (waited) {
            arrive();
        }
        return waited;
    }

    private void arrive() {
        HeldElement<T> next = this;
        while (next != null && next.missing.decrementAndGet() == 0) {
            ready.add(next);
            next = next.goAhead();
        }
        ready.drain();
    }

    @SuppressWarnings("unchecked")
    private @Nullable HeldElement<T> goAhead() {
        return (HeldElement<T>) follower.getAndSet(WENT_AHEAD);
    }

    /** Makes the caller the owner of an answered element; false if it was discarded. */
    boolean take() {
        return state.compareAndSet(State.ANSWERED, State.GONE);
    }

    /** For the owner. */
    T element() {
        return element;
    }

    /** For the owner; null if the limiter failed. */
    @Nullable
    Decision decision() {
        return decision;
    }

    /** For the owner; null if the limiter answered. */
    @Nullable
    Throwable failure() {
        return failure;
    }

    /** Leaves the queue, discards the element, refunds its permits. */
    @Override
    public void dispose() {
        State left = state.getAndSet(State.GONE);
        if (left == State.GONE) {
            return;
        }
        request.cancel();
        parent.discard(element);
        if (left == State.ANSWERED && decision != null) {
            parent.terms.refund(decision);
        }
    }

    @Override
    public boolean isDisposed() {
        return state.get() == State.GONE;
    }
}
