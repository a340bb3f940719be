package io.github.reactorratelimit.operator;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitExceededException;
import io.github.reactorratelimit.Reservation;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscription;
import reactor.core.CorePublisher;
import reactor.core.CoreSubscriber;
import reactor.core.Exceptions;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;
import reactor.util.context.Context;

/**
 * Stands between a subscriber and a source that is not subscribed before permits are reserved for it, counts what passes, and
 * settles the reservation once, when the source ends or the subscriber leaves. Settling is begun before the end is passed on, and
 * nobody waits for it: where the state is in this process it is done then.
 */
final class SettleSubscriber<T> extends Operators.DeferredSubscription implements CoreSubscriber<T> {

    private enum State {
        /** Reservation pending. Whoever leaves this state decides whether the source is subscribed. */
        WAITING,
        /** Answered: the source, what stands in for it, or the denial signals downstream. */
        OPEN,
        /** Downstream left. */
        CANCELLED
    }

    private final CoreSubscriber<? super T> actual;
    private final GateSubscriber.Gate<T> gate;
    private final Account<T> account;
    private final boolean single;
    private final Mono<Reservation> question;
    private final Turn<Reservation> turn;
    private final AtomicReference<State> state = new AtomicReference<>(State.WAITING);

    /** Set before the source is subscribed; null where something stands in for it, which is not charged. */
    private volatile @Nullable Tally<T> tally;

    private boolean done;

    private SettleSubscriber(
            CoreSubscriber<? super T> actual,
            GateSubscriber.Gate<T> gate,
            Asking<T> asking,
            Account<T> account,
            boolean single) {
        this.actual = actual;
        this.gate = gate;
        this.account = account;
        this.single = single;
        this.question = asking.reserve();
        this.turn = Turn.of(actual, this::granted, this::failed);
    }

    /** @param single whether the first element ends it */
    static <T> void enter(
            GateSubscriber.Gate<T> gate,
            Asking<T> asking,
            Account<T> account,
            boolean single,
            CoreSubscriber<? super T> actual) {
        SettleSubscriber<T> waiting;
        try {
            waiting = new SettleSubscriber<>(actual, gate, asking, account, single);
        } catch (Throwable refused) {
            Operators.error(actual, Operators.onOperatorError(refused, actual.currentContext()));
            return;
        }
        actual.onSubscribe(waiting);
        waiting.turn.ask(waiting.question);
    }

    private void granted(Reservation reservation) {
        Tally<T> counting = new Tally<>(reservation, account);
        tally = counting;
        if (open()) {
            subscribeTo(gate.source());
        } else {
            counting.unused();
        }
    }

    private boolean failed(Throwable failure) {
        boolean waited = open();
        if (waited && failure instanceof RateLimitExceededException exceeded) {
            denied(exceeded.decision());
        } else if (waited) {
            onError(failure);
        }
        return waited;
    }

    private void denied(Decision decision) {
        Publisher<? extends T> other;
        try {
            other = gate.denial().insteadOfSource(decision);
        } catch (Throwable failure) {
            onError(Operators.onOperatorError(failure, currentContext()));
            return;
        }
        if (other == null) {
            onComplete();
        } else {
            subscribeTo(gate.standIn(other));
        }
    }

    private boolean open() {
        return state.compareAndSet(State.WAITING, State.OPEN);
    }

    private void subscribeTo(CorePublisher<? extends T> source) {
        try {
            source.subscribe(this);
        } catch (Throwable failure) {
            settle(Outcome.Kind.FAILED, null, failure);
            Operators.reportThrowInSubscribe(this, failure);
        }
    }

    /** What went wrong with the user's function, null if nothing did. */
    private @Nullable Throwable settle(Outcome.Kind kind, @Nullable T value, @Nullable Throwable error) {
        Tally<T> counting = tally;
        return counting == null ? null : counting.settle(kind, value, error);
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
            turn.cancel();
        }
        super.cancel();
        if (left == State.OPEN) {
            Throwable failure = settle(Outcome.Kind.CANCELLED, null, null);
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
        Tally<T> counting = tally;
        if (counting != null && !count(counting, element)) {
            return;
        }
        actual.onNext(element);
    }

    /** False if the element is not passed on: the subscriber has left, or a function failed. */
    private boolean count(Tally<T> counting, T element) {
        boolean counted;
        Throwable failure = null;
        try {
            counted = counting.add(element);
            if (counted && single) {
                failure = settle(Outcome.Kind.COMPLETED, element, null);
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
        Throwable another = settle(Outcome.Kind.FAILED, null, failure);
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
        Throwable failure = settle(Outcome.Kind.COMPLETED, null, null);
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
