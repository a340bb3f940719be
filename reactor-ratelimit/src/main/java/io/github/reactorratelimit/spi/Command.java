package io.github.reactorratelimit.spi;

import java.time.Duration;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.publisher.Operators;

/**
 * One step on a key's value, for one subscriber. It is answered once: by its result, by an error, or by its deadline. A result that finds
 * no subscriber goes to {@code unused}, at whatever moment the subscriber cancels.
 */
final class Command<T> implements Subscription, Runnable {

    /** What is done to a key. Pure, because a lost race repeats it. */
    interface Step<T> {
        Result<T> apply(KeyValue<?> seen);
    }

    /**
     * What a step makes of a value.
     *
     * @param next the value to store; the one that was seen if nothing changes
     * @param answer for the subscriber
     * @param stored runs once {@code next} is stored
     */
    record Result<T>(KeyValue<?> next, T answer, Runnable stored) {
        Result(KeyValue<?> next, T answer) {
            this(next, answer, () -> {});
        }
    }

    private enum State {
        /** Nothing requested yet. */
        SUBSCRIBED,
        /** Pending or in flight. The first of result, error, deadline and cancel leaves this state. */
        PENDING,
        /** Answered, not delivered yet. Delivery or cancel leaves this state and owns the answer. */
        ANSWERED,
        /** Delivered or cancelled. */
        DONE
    }

    private final KeyCalls calls;
    final String key;
    private final Step<T> step;
    private final Consumer<T> unused;
    private final CoreSubscriber<? super T> actual;
    private final AtomicReference<State> state = new AtomicReference<>(State.SUBSCRIBED);
    private final Disposable.Swap timer = Disposables.swap();

    /** Written by the call in flight. */
    private @Nullable Result<T> result;

    /** Written before {@link State#ANSWERED}, read after it. */
    private @Nullable T value;

    private @Nullable Throwable error;

    Command(KeyCalls calls, String key, Step<T> step, Consumer<T> unused, CoreSubscriber<? super T> actual) {
        this.calls = calls;
        this.key = key;
        this.step = step;
        this.unused = unused;
        this.actual = actual;
    }

    @Override
    public void request(long n) {
        if (Operators.validate(n) && state.compareAndSet(State.SUBSCRIBED, State.PENDING)) {
            try {
                Duration deadline = calls.deadline();
                Runnable late = () -> fail(new StoreUnavailableException("no answer within " + deadline, null));
                timer.update(calls.scheduler().schedule(late, deadline.toNanos(), TimeUnit.NANOSECONDS));
                calls.add(this);
            } catch (RejectedExecutionException disposed) {
                fail(disposed);
            }
        }
    }

    boolean isOver() {
        return state.get() != State.PENDING;
    }

    /** The value after this step; a step that throws fails alone and changes nothing. */
    KeyValue<?> apply(KeyValue<?> seen) {
        result = null;
        try {
            Result<T> applied = step.apply(seen);
            result = applied;
            return applied.next();
        } catch (RuntimeException failure) {
            fail(failure);
            return seen;
        }
    }

    /** The value that {@link #apply} made is stored. */
    void succeed() {
        Result<T> applied = result;
        if (applied == null) {
            return;
        }
        applied.stored().run();
        T answer = applied.answer();
        if (!answer(answer, null)) {
            unused.accept(answer);
        }
    }

    void fail(Throwable failure) {
        answer(null, failure);
    }

    private boolean answer(@Nullable T answer, @Nullable Throwable failure) {
        if (!state.compareAndSet(State.PENDING, State.ANSWERED)) {
            return false;
        }
        // If the subscriber cancels from here on, run() finds that out and hands the value to unused.
        value = answer;
        error = failure;
        timer.dispose();
        calls.deliver(this);
        return true;
    }

    /** Runs the subscriber's code. */
    @Override
    public void run() {
        if (state.compareAndSet(State.ANSWERED, State.DONE)) {
            if (error != null) {
                actual.onError(error);
            } else if (value != null) {
                actual.onNext(value);
                actual.onComplete();
            }
        } else if (value != null) {
            unused.accept(value);
        }
    }

    @Override
    public void cancel() {
        if (state.getAndSet(State.DONE) == State.PENDING) {
            timer.dispose();
        }
    }
}
