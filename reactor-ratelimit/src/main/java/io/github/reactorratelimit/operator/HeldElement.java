package io.github.reactorratelimit.operator;

import io.github.reactorratelimit.Decision;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import reactor.core.Disposable;

/**
 * One element that waits while others may overtake it. It is ready once two things have come: its own
 * answer, and word that the element before it in its key's line went ahead.
 */
final class HeldElement<T> extends Turn<Decision> implements Disposable {

    private enum State {
        /** No answer yet. */
        WAITING,
        /** Answered; {@code decision} or {@code failure} is set. */
        ANSWERED,
        /** Taken or discarded. Whoever moved here from another state owns the element and its permits. */
        GONE
    }

    /** Follows an element that went ahead: nobody can line up behind it any more. */
    private static final Object WENT_AHEAD = new Object();

    private final ElementSubscriber<T> parent;
    private final ReadyQueue<T> ready;
    private final T element;
    private final AtomicReference<State> state = new AtomicReference<>(State.WAITING);
    private final AtomicInteger missing = new AtomicInteger(2);
    private final AtomicReference<@Nullable Object> follower = new AtomicReference<>();
    private @Nullable Decision decision;
    private @Nullable Throwable failure;

    HeldElement(ElementSubscriber<T> parent, ReadyQueue<T> ready, T element) {
        super(parent.actual);
        this.parent = parent;
        this.ready = ready;
        this.element = element;
    }

    /** Where elements go when they are ready, from any thread. */
    interface ReadyQueue<T> {

        /** Puts it in line for emission. */
        void add(HeldElement<T> element);

        /** Lets somebody emit what is in line. */
        void drain();
    }

    /** Lines up behind the last element of the key, if there is one that did not go ahead yet. Called once, before it is asked for. */
    void lineUpBehind(@Nullable HeldElement<T> last) {
        if (last == null || !last.follower.compareAndSet(null, this)) {
            missing.decrementAndGet();
        }
    }

    boolean wentAhead() {
        return follower.get() == WENT_AHEAD;
    }

    @Override
    void answered(Decision answer) {
        decision = answer;
        if (state.compareAndSet(State.WAITING, State.ANSWERED)) {
            arrive();
        } else {
            parent.asking.giveBack(answer);
        }
    }

    @Override
    boolean failed(Throwable cause) {
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

    /** Leaves the line, discards the element, gives its permits back. */
    @Override
    public void dispose() {
        State left = state.getAndSet(State.GONE);
        if (left == State.GONE) {
            return;
        }
        cancel();
        parent.discard(element);
        if (left == State.ANSWERED && decision != null) {
            parent.asking.giveBack(decision);
        }
    }

    @Override
    public boolean isDisposed() {
        return state.get() == State.GONE;
    }
}
