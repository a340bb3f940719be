package io.github.reactorratelimit.redis;

import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.Exceptions;
import reactor.core.Scannable;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;
import reactor.core.scheduler.Scheduler;

/**
 * Asks once for each subscriber, when it requests. The first answer is delivered, on the thread that brings it;
 * a value that comes later, or after the subscriber left, goes to {@code unused}, and an error that comes then is
 * nobody's. Nothing is dropped into Reactor's hooks. Unlike with a {@code MonoSink}, each value is either
 * delivered or unused, at whatever moment the subscriber leaves.
 */
final class MonoOnce<T> extends Mono<T> implements Scannable {

    private final Consumer<Reply<T>> question;
    private final Consumer<? super T> unused;

    MonoOnce(Consumer<Reply<T>> question, Consumer<? super T> unused) {
        this.question = question;
        this.unused = unused;
    }

    /** Whoever leaves early needs not know what the answer would have been. */
    static <T> Mono<T> asking(Consumer<Reply<T>> question) {
        return new MonoOnce<>(question, late -> {});
    }

    /**
     * Goes on when the subscriber leaves, for what may have been done must be known. Answers on {@code callbacks},
     * or on the thread that has the answer if they take no more tasks.
     */
    static <T> Mono<T> uncancelled(Mono<T> source, Scheduler callbacks, Consumer<? super T> unused) {
        return new MonoOnce<>(reply -> reply.follow(source, on(callbacks)), unused);
    }

    /** Cancels what is under way when the subscriber leaves. */
    static <T> Mono<T> ofStage(Supplier<? extends CompletionStage<T>> started) {
        return asking(reply -> {
            CompletionStage<T> stage = started.get();
            if (stage instanceof Future<?> future) {
                reply.whenLeft(() -> future.cancel(true));
            }
            stage.whenComplete((value, error) -> {
                if (error == null) {
                    reply.succeed(value);
                } else {
                    reply.fail(unwrapped(error));
                }
            });
        });
    }

    /** Answers as {@code call} does, unless {@code started} does so first; then what is under way is cancelled. */
    static <T> Mono<T> racing(Mono<T> call, Consumer<Reply<T>> started) {
        return asking(reply -> {
            Follower<T> follower = new Follower<>(reply, Runnable::run);
            reply.whenOver(follower);
            started.accept(reply);
            call.subscribe(follower);
        });
    }

    private static Throwable unwrapped(Throwable error) {
        Throwable cause = error instanceof CompletionException ? error.getCause() : null;
        return cause == null ? error : cause;
    }

    static Executor on(Scheduler scheduler) {
        return task -> {
            try {
                scheduler.schedule(task);
            } catch (RejectedExecutionException gone) {
                task.run();
            }
        };
    }

    @Override
    public void subscribe(CoreSubscriber<? super T> actual) {
        actual.onSubscribe(new Reply<>(this, actual));
    }

    @Override
    @SuppressWarnings("rawtypes")
    public @Nullable Object scanUnsafe(Attr attribute) {
        return attribute == Attr.RUN_STYLE ? Attr.RunStyle.ASYNC : null;
    }

    private enum State {
        /** Nothing requested yet. */
        SUBSCRIBED,
        /** Asking. Whoever leaves this state has the say: the first answer, or the subscriber who leaves. */
        ASKED,
        /** Answered. */
        DONE,
        /** The subscriber left. */
        CANCELLED
    }

    /** The answer to one subscriber. */
    static final class Reply<T> implements Subscription, Scannable, Deadlines.Watched {

        private static final Disposable OVER = Disposables.disposed();

        private final MonoOnce<T> once;
        private final CoreSubscriber<? super T> actual;
        private final AtomicReference<State> state = new AtomicReference<>(State.SUBSCRIBED);
        private final AtomicReference<@Nullable Disposable> cleanup = new AtomicReference<>();

        Reply(MonoOnce<T> once, CoreSubscriber<? super T> actual) {
            this.once = once;
            this.actual = actual;
        }

        @Override
        public void request(long n) {
            if (Operators.validate(n) && state.compareAndSet(State.SUBSCRIBED, State.ASKED)) {
                try {
                    once.question.accept(this);
                } catch (LinkageError brokenClassPath) {
                    // Thrown on, it would reach no subscriber.
                    fail(brokenClassPath);
                } catch (Throwable error) {
                    Exceptions.throwIfFatal(error);
                    fail(error);
                }
            }
        }

        /** Completes without a value if there is none. */
        void succeed(@Nullable T value) {
            if (state.compareAndSet(State.ASKED, State.DONE)) {
                try {
                    if (value != null) {
                        actual.onNext(value);
                    }
                    actual.onComplete();
                } finally {
                    cleanUp();
                }
            } else if (value != null) {
                once.unused.accept(value);
            }
        }

        @Override
        public void fail(Throwable error) {
            if (state.compareAndSet(State.ASKED, State.DONE)) {
                try {
                    actual.onError(error);
                } finally {
                    cleanUp();
                }
            }
        }

        /** Brings what {@code source} answers, each signal as a task of {@code executor}. */
        Disposable follow(Mono<? extends T> source, Executor executor) {
            Follower<T> follower = new Follower<>(this, executor);
            source.subscribe(follower);
            return follower;
        }

        /** To be run once, when this is answered or left, or now if that was before. Called once. */
        void whenOver(Disposable action) {
            if (!cleanup.compareAndSet(null, action)) {
                action.dispose();
            }
        }

        /** {@link #whenOver}, but not if it is answered. */
        void whenLeft(Runnable action) {
            whenOver(() -> {
                if (state.get() == State.CANCELLED) {
                    action.run();
                }
            });
        }

        @Override
        public void cancel() {
            if (!state.compareAndSet(State.SUBSCRIBED, State.CANCELLED)
                    && state.compareAndSet(State.ASKED, State.CANCELLED)) {
                cleanUp();
            }
        }

        /** Answered, or left. */
        @Override
        public boolean isOver() {
            State now = state.get();
            return now == State.DONE || now == State.CANCELLED;
        }

        /** After the subscriber was told: nothing that goes wrong here may cost it its answer. */
        private void cleanUp() {
            Disposable action = cleanup.getAndSet(OVER);
            if (action != null) {
                action.dispose();
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

    /** Not with the subscriber's Context: whose discard hooks are not for what is under way here. */
    private static final class Follower<T> implements CoreSubscriber<T>, Disposable {

        private final Reply<T> reply;
        private final Executor executor;
        private final AtomicReference<@Nullable Subscription> upstream = new AtomicReference<>();
        private boolean answered;

        Follower(Reply<T> reply, Executor executor) {
            this.reply = reply;
            this.executor = executor;
        }

        @Override
        public void onSubscribe(Subscription subscription) {
            if (upstream.compareAndSet(null, subscription)) {
                subscription.request(Long.MAX_VALUE);
            } else {
                subscription.cancel();
            }
        }

        @Override
        public void onNext(T value) {
            answered = true;
            executor.execute(() -> reply.succeed(value));
        }

        @Override
        public void onError(Throwable error) {
            executor.execute(() -> reply.fail(error));
        }

        @Override
        public void onComplete() {
            if (!answered) {
                executor.execute(() -> reply.succeed(null));
            }
        }

        @Override
        public void dispose() {
            Subscription current = upstream.getAndSet(Operators.cancelledSubscription());
            if (current != null) {
                current.cancel();
            }
        }
    }
}
