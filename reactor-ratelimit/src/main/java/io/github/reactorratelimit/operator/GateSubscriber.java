package io.github.reactorratelimit.operator;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.Lease;
import io.github.reactorratelimit.RateLimitExceededException;
import io.github.reactorratelimit.Verdict;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscription;
import reactor.core.CorePublisher;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;
import reactor.util.context.Context;

/**
 * Stands between a subscriber and a source that is not subscribed before it is allowed. Remembers what
 * the subscriber requests meanwhile. A lease is released before the end of the source is passed on, so
 * that whoever starts over finds the permits there.
 */
final class GateSubscriber<T> extends Operators.DeferredSubscription implements CoreSubscriber<T> {

    private enum State {
        /** Permit pending. Whoever leaves this state decides whether the source is subscribed. */
        WAITING,
        /** Answered: the source, what stands in for it, or the denial signals downstream. */
        OPEN,
        /** Downstream left. */
        CANCELLED
    }

    private final CoreSubscriber<? super T> actual;
    private final Gate<T> gate;
    private final Asking<T> asking;
    private final Question<?> question;
    private final AtomicReference<State> state = new AtomicReference<>(State.WAITING);

    /** Set before OPEN is entered; whoever takes it out releases it. */
    private final AtomicReference<@Nullable Lease> lease = new AtomicReference<>();

    private boolean done;

    private GateSubscriber(CoreSubscriber<? super T> actual, Gate<T> gate, Asking<T> asking, boolean leased) {
        this.actual = actual;
        this.gate = gate;
        this.asking = asking;
        this.question = leased
                ? new Question<>(asking.acquireLease(), Turn.of(actual, this::granted, this::failed))
                : new Question<>(asking.acquire(), Turn.of(actual, this::answered, this::failed));
    }

    /** What the gate of a Flux and that of a Mono know. */
    interface Gate<T> {

        Denial<T> denial();

        CorePublisher<? extends T> source();

        CorePublisher<? extends T> standIn(Publisher<? extends T> fallback);
    }

    /** Subscribes to the source once that is allowed; directly, without standing in between, if it is at once. */
    static <T> void enter(Gate<T> gate, Asking<T> asking, boolean leased, CoreSubscriber<? super T> actual) {
        Verdict verdict;
        GateSubscriber<T> waiting = null;
        try {
            verdict = leased ? Verdict.UNKNOWN : asking.decideNow();
            if (verdict == Verdict.UNKNOWN) {
                waiting = new GateSubscriber<>(actual, gate, asking, leased);
            }
        } catch (Throwable refused) {
            Operators.error(actual, Operators.onOperatorError(refused, actual.currentContext()));
            return;
        }
        if (verdict == Verdict.TAKEN) {
            gate.source().subscribe(actual);
        } else if (waiting != null) {
            actual.onSubscribe(waiting);
            waiting.question.ask();
        } else if (verdict instanceof Decision denied) {
            turnAway(gate, actual, denied);
        }
    }

    /** Denied at once: nothing has to stand in between. */
    private static <T> void turnAway(Gate<T> gate, CoreSubscriber<? super T> actual, Decision decision) {
        Denial<T> denial = gate.denial();
        CorePublisher<? extends T> other;
        try {
            // Not thrown: an exception that is only passed on costs less.
            if (denial instanceof Denial.Fail) {
                Throwable exceeded = new RateLimitExceededException(decision);
                Operators.error(actual, Operators.onOperatorError(exceeded, actual.currentContext()));
                return;
            }
            Publisher<? extends T> instead = denial.insteadOfSource(decision);
            other = instead == null ? null : gate.standIn(instead);
        } catch (Throwable failure) {
            Operators.error(actual, Operators.onOperatorError(failure, actual.currentContext()));
            return;
        }
        if (other == null) {
            Operators.complete(actual);
        } else {
            other.subscribe(actual);
        }
    }

    private void answered(Decision decision) {
        if (!decision.allowed()) {
            denied(decision);
        } else if (open()) {
            subscribeTo(gate.source());
        } else {
            asking.giveBack(decision);
        }
    }

    private void granted(Lease granted) {
        lease.set(granted);
        if (open()) {
            subscribeTo(gate.source());
        } else {
            release();
        }
    }

    private boolean failed(Throwable failure) {
        if (failure instanceof RateLimitExceededException exceeded) {
            return denied(exceeded.decision());
        }
        boolean waited = open();
        if (waited) {
            onError(failure);
        }
        return waited;
    }

    private boolean denied(Decision decision) {
        boolean waited = open();
        if (waited) {
            Publisher<? extends T> other;
            try {
                other = gate.denial().insteadOfSource(decision);
            } catch (Throwable failure) {
                onError(Operators.onOperatorError(failure, currentContext()));
                return true;
            }
            if (other == null) {
                onComplete();
            } else {
                subscribeTo(gate.standIn(other));
            }
        }
        return waited;
    }

    private boolean open() {
        return state.compareAndSet(State.WAITING, State.OPEN);
    }

    private void subscribeTo(CorePublisher<? extends T> source) {
        try {
            source.subscribe(this);
        } catch (Throwable failure) {
            release();
            Operators.reportThrowInSubscribe(this, failure);
        }
    }

    private void release() {
        Lease held = lease.getAndSet(null);
        if (held != null) {
            held.release().subscribe();
        }
    }

    @Override
    public void request(long n) {
        if (Operators.validate(n)) {
            super.request(n);
        }
    }

    @Override
    public void cancel() {
        State left = state.getAndSet(State.CANCELLED);
        if (left == State.WAITING) {
            question.turn().cancel();
        }
        super.cancel();
        release();
    }

    @Override
    public void onSubscribe(Subscription s) {
        set(s);
    }

    @Override
    public void onNext(T element) {
        if (done) {
            Operators.onNextDropped(element, currentContext());
        } else {
            actual.onNext(element);
        }
    }

    @Override
    public void onError(Throwable failure) {
        if (done) {
            Operators.onErrorDropped(failure, currentContext());
            return;
        }
        done = true;
        release();
        actual.onError(failure);
    }

    @Override
    public void onComplete() {
        if (!done) {
            done = true;
            release();
            actual.onComplete();
        }
    }

    @Override
    public Context currentContext() {
        return actual.currentContext();
    }

    @Override
    @SuppressWarnings("rawtypes")
    public @Nullable Object scanUnsafe(Attr key) {
        if (key == Attr.ACTUAL) {
            return actual;
        }
        if (key == Attr.TERMINATED) {
            return done;
        }
        return key == Attr.RUN_STYLE ? Attr.RunStyle.ASYNC : super.scanUnsafe(key);
    }

    private record Question<A>(Mono<A> answer, Turn<A> turn) {

        void ask() {
            turn.ask(answer);
        }
    }
}
