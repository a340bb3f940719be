package io.github.reactorratelimit.operator;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitExceededException;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import reactor.core.CorePublisher;
import reactor.core.CoreSubscriber;
import reactor.core.Exceptions;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;
import reactor.util.context.Context;

/**
 * Stands between a subscriber and a source that is not subscribed before it is allowed, and remembers what
 * the subscriber requests meanwhile. Permits come back before the end of the source is passed on, so that a
 * subscriber that starts over finds them; no signal waits for the store.
 */
final class GateSubscriber<T> extends Operators.DeferredSubscription implements CoreSubscriber<T> {

    @SuppressWarnings("rawtypes")
    private static final AtomicReferenceFieldUpdater<GateSubscriber, State> STATE =
            AtomicReferenceFieldUpdater.newUpdater(GateSubscriber.class, State.class, "state");

    private enum State {
        /** Permits pending. The thread that leaves this state decides whether the source is subscribed. */
        WAITING,
        /** Answered: the source, its fallback, or the denial signals downstream. */
        OPEN,
        /** Downstream cancelled. */
        CANCELLED
    }

    private final CoreSubscriber<? super T> actual;
    private final Gate<T> gate;

    /** Null if the permits were granted on the fast path. */
    private final @Nullable PendingRequest<GatePermits<T>> pending;

    private volatile State state;

    /** Set before OPEN is entered; null before, and for a fallback. */
    private volatile @Nullable GatePermits<T> permits;

    private boolean done;

    /** Subscribes to the source of a gate when that is allowed: directly, if it is allowed immediately. */
    static <T> void subscribe(Gate<T> gate, CoreSubscriber<? super T> actual) {
        SubscriptionTerms<T> terms = gate.termsOf.orFail(actual);
        if (terms == null) {
            return;
        }
        Decision decision;
        GateSubscriber<T> waiting = null;
        try {
            decision = gate.decideNow(terms);
            if (decision == null) {
                waiting = new GateSubscriber<>(actual, gate, gate.request(terms, actual.currentContext()));
            }
        } catch (Throwable refused) {
            Operators.error(actual, Operators.onOperatorError(refused, actual.currentContext()));
            return;
        }
        if (decision == null) {
            Objects.requireNonNull(waiting).enter();
        } else if (!decision.allowed()) {
            turnAway(gate, actual, decision);
        } else if (gate.isLeased()) {
            Decision held = decision;
            new GateSubscriber<T>(actual, gate, () -> terms.releaseNow(held)).enter();
        } else {
            gate.source().subscribe(actual);
        }
    }

    private static <T> void turnAway(Gate<T> gate, CoreSubscriber<? super T> actual, Decision decision) {
        CorePublisher<? extends T> other = null;
        Throwable failure;
        try {
            // Not thrown: an exception that is only passed on costs less.
            failure = gate.errorOf(decision);
            if (failure == null) {
                other = gate.insteadOfSource(decision);
            }
        } catch (Throwable thrown) {
            failure = thrown;
        }
        if (other == null) {
            Operators.error(
                    actual, Operators.onOperatorError(Objects.requireNonNull(failure), actual.currentContext()));
        } else {
            other.subscribe(actual);
        }
    }

    /** @param request is made when this is {@linkplain #enter entered} */
    private GateSubscriber(CoreSubscriber<? super T> actual, Gate<T> gate, Mono<? extends GatePermits<T>> request) {
        this.actual = actual;
        this.gate = gate;
        this.state = State.WAITING;
        this.pending = new PendingRequest<>(actual, request, this::granted, this::failed);
    }

    /** For permits of a concurrency limit that were granted on the fast path. */
    private GateSubscriber(CoreSubscriber<? super T> actual, Gate<T> gate, GatePermits.Leased<T> leased) {
        this.actual = actual;
        this.gate = gate;
        this.state = State.OPEN;
        this.pending = null;
        this.permits = leased;
    }

    /** Requests the permits, unless they are granted, and subscribes to the source when they are. */
    private void enter() {
        actual.onSubscribe(this);
        if (pending != null) {
            pending.send();
        } else if (state == State.OPEN) {
            subscribeTo(gate.source());
        }
    }

    private void granted(GatePermits<T> granted) {
        Decision denial = granted.denial();
        if (denial != null) {
            denied(denial);
            return;
        }
        permits = granted;
        if (open()) {
            subscribeTo(gate.source());
        } else {
            granted.refund();
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
            CorePublisher<? extends T> other;
            try {
                other = gate.insteadOfSource(decision);
            } catch (Throwable failure) {
                onError(Operators.onOperatorError(failure, currentContext()));
                return true;
            }
            subscribeTo(other);
        }
        return waited;
    }

    private boolean open() {
        return STATE.compareAndSet(this, State.WAITING, State.OPEN);
    }

    private void subscribeTo(CorePublisher<? extends T> source) {
        try {
            source.subscribe(this);
        } catch (Throwable failure) {
            end(Outcome.Kind.FAILED, failure);
            permits = null;
            Operators.reportThrowInSubscribe(this, failure);
        }
    }

    private @Nullable Throwable end(Outcome.Kind kind, @Nullable Throwable error) {
        GatePermits<T> held = permits;
        return held == null ? null : held.end(kind, null, error);
    }

    @Override
    public void request(long n) {
        if (Operators.validate(n)) {
            super.request(n);
        }
    }

    @Override
    public void cancel() {
        State left = STATE.getAndSet(this, State.CANCELLED);
        if (left == State.WAITING && pending != null) {
            pending.cancel();
        }
        super.cancel();
        if (left == State.OPEN) {
            Throwable failure = end(Outcome.Kind.CANCELLED, null);
            if (failure != null) {
                Exceptions.throwIfFatal(failure);
                Operators.onErrorDropped(failure, currentContext());
            }
        }
    }

    @Override
    public void onSubscribe(Subscription s) {
        set(s);
    }

    @Override
    public void onNext(T element) {
        if (done) {
            Operators.onNextDropped(element, currentContext());
            return;
        }
        GatePermits<T> held = permits;
        if (held == null || count(held, element)) {
            actual.onNext(element);
        }
    }

    /** False if the element is not passed on: the subscriber has cancelled, or a function failed. */
    private boolean count(GatePermits<T> held, T element) {
        boolean counted;
        Throwable failure = null;
        try {
            counted = held.count(element);
            if (counted && held.endsWithValue()) {
                failure = held.end(Outcome.Kind.COMPLETED, element, null);
            }
        } catch (Throwable thrown) {
            counted = false;
            failure = thrown;
        }
        if (failure != null) {
            super.cancel();
            Operators.onDiscard(element, currentContext());
            onError(Operators.onOperatorError(null, failure, element, currentContext()));
            return false;
        }
        if (!counted) {
            Operators.onDiscard(element, currentContext());
        }
        return counted;
    }

    @Override
    public void onError(Throwable failure) {
        if (done) {
            Operators.onErrorDropped(failure, currentContext());
            return;
        }
        done = true;
        Throwable another = end(Outcome.Kind.FAILED, failure);
        if (another != null && another != failure) {
            failure.addSuppressed(another);
        }
        actual.onError(failure);
    }

    @Override
    public void onComplete() {
        if (done) {
            return;
        }
        done = true;
        Throwable failure = end(Outcome.Kind.COMPLETED, null);
        if (failure == null) {
            actual.onComplete();
        } else {
            actual.onError(Operators.onOperatorError(failure, currentContext()));
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
}
