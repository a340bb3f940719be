package io.github.reactorratelimit.fairness;

import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.Scannable;
import reactor.core.publisher.Operators;

/**
 * One call that waits for permits, and its subscriber. It joins the line when it is first requested; from then on one atomic
 * move decides who answers it: the line, or the subscriber who leaves.
 */
final class FairCall implements Subscription, Scannable {

    private enum State {
        /** Subscribed, nothing requested yet: not in line. */
        SUBSCRIBED,
        /** In line, and still on the thread that requested. Whoever leaves this state is as in WAITING. */
        JOINING,
        /** In line. Whoever leaves this state answers: the line by a grant, a denial or an error, the subscriber by leaving. */
        WAITING,
        /** Answered while JOINING: the thread that requested delivers it, or the subscriber gives it back. */
        ANSWERED_AT_ONCE,
        /** Answered. Whoever leaves this state owns the answer: delivers it, or gives it back. */
        ANSWERED,
        /** Answer delivered. */
        DONE,
        /** The subscriber left. */
        CANCELLED
    }

    private final FairLine line;
    private final CoreSubscriber<? super Object> actual;
    private final AtomicReference<State> state = new AtomicReference<>(State.SUBSCRIBED);

    final String tenant;

    /** 0 for the class that goes first. */
    final int rank;

    final Terms terms;
    final long weight;

    /** Before this time of the line's clock it wants an answer; {@link Long#MAX_VALUE} for whenever. */
    final long notAfter;

    /** Written before it is answered, read after it: what was granted, a denied decision, or an error. */
    private @Nullable Object answer;

    private boolean granted;

    /** The links and what follows belong to the owner of the line. */
    @Nullable
    FairCall previous;

    @Nullable
    FairCall next;

    boolean linked;
    long sequence;

    FairCall(FairLine line, CoreSubscriber<? super Object> actual, Wish wish) {
        this.line = line;
        this.actual = actual;
        this.tenant = wish.tenant();
        this.rank = wish.rank();
        this.terms = wish.terms();
        this.weight = wish.weight();
        this.notAfter = wish.notAfter();
    }

    /** What one subscriber wants. */
    record Wish(String tenant, int rank, Terms terms, long weight, long notAfter) {}

    /** An answer that is there before the line was left to itself needs no other thread. */
    @Override
    public void request(long n) {
        if (Operators.validate(n) && state.compareAndSet(State.SUBSCRIBED, State.JOINING)) {
            line.join(this);
            if (!state.compareAndSet(State.JOINING, State.WAITING)
                    && state.compareAndSet(State.ANSWERED_AT_ONCE, State.DONE)) {
                tell();
            }
        }
    }

    boolean isWaiting() {
        State now = state.get();
        return now == State.WAITING || now == State.JOINING;
    }

    boolean hasDeadline() {
        return notAfter != Long.MAX_VALUE;
    }

    /** Of the line's owner. */
    enum Claim {
        /** The subscriber left: what was granted is still the line's. */
        TOO_LATE,
        /** Answered; the line lets it be {@linkplain #deliver delivered}. */
        TO_DELIVER,
        /** Answered, and the thread that joined delivers it. */
        DELIVERED_BY_ITSELF
    }

    Claim claim(Object answer, boolean granted) {
        this.answer = answer;
        this.granted = granted;
        while (isWaiting()) {
            if (state.compareAndSet(State.WAITING, State.ANSWERED)) {
                return Claim.TO_DELIVER;
            }
            if (state.compareAndSet(State.JOINING, State.ANSWERED_AT_ONCE)) {
                return Claim.DELIVERED_BY_ITSELF;
            }
        }
        return Claim.TOO_LATE;
    }

    /** Runs the subscriber's code, on a thread that grants nothing. */
    void deliver() {
        if (state.compareAndSet(State.ANSWERED, State.DONE)) {
            tell();
        }
    }

    private void tell() {
        try {
            if (answer instanceof Throwable failure) {
                actual.onError(failure);
            } else if (answer != null) {
                actual.onNext(answer);
                actual.onComplete();
            }
        } finally {
            line.departed();
        }
    }

    @Override
    public void cancel() {
        State before = state.getAndUpdate(current -> current == State.DONE ? current : State.CANCELLED);
        if (before == State.WAITING || before == State.JOINING) {
            line.leave(this);
        } else if (before == State.ANSWERED || before == State.ANSWERED_AT_ONCE) {
            if (granted && answer != null) {
                line.giveBack(terms, answer);
            }
            line.departed();
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
