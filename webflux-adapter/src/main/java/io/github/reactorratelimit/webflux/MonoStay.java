package io.github.reactorratelimit.webflux;

import io.github.reactorratelimit.CallerThread;
import io.github.reactorratelimit.RateLimitContext;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.Scannable;
import reactor.core.publisher.Mono;
import reactor.core.publisher.MonoOperator;
import reactor.core.publisher.Operators;
import reactor.util.context.Context;

/**
 * Signals what the source does, on the {@linkplain ConnectionThread event loop} of the request if that is where it is subscribed: at once what
 * comes there, and else as a task of it. Tells limiters upstream that they may bring their answers there by themselves. A value that
 * nobody takes any more is discarded.
 */
final class MonoStay<T> extends MonoOperator<T, T> {

    private final Supplier<? extends @Nullable CallerThread> threads;

    /** @param threads asked by each subscriber's thread; null if that is not the event loop */
    MonoStay(Mono<T> source, Supplier<? extends @Nullable CallerThread> threads) {
        super(source);
        this.threads = threads;
    }

    @Override
    public void subscribe(CoreSubscriber<? super T> actual) {
        CallerThread thread = threads.get();
        source.subscribe(thread == null ? actual : new Stayer<>(actual, thread));
    }

    @Override
    @SuppressWarnings("rawtypes")
    public @Nullable Object scanUnsafe(Attr attribute) {
        return attribute == Attr.RUN_STYLE ? Attr.RunStyle.ASYNC : super.scanUnsafe(attribute);
    }

    /** The source's signals are one after the other; so the fields that are not volatile go with the task. */
    private static final class Stayer<T> implements CoreSubscriber<T>, Subscription, Scannable, Runnable {

        /** The source has not ended, or its end is on the way to the thread. */
        private static final int OPEN = 0;

        /** Told downstream. */
        private static final int DONE = 1;

        private static final int CANCELLED = 2;

        @SuppressWarnings("rawtypes")
        private static final AtomicIntegerFieldUpdater<Stayer> STATE =
                AtomicIntegerFieldUpdater.newUpdater(Stayer.class, "state");

        private final CoreSubscriber<? super T> actual;
        private final CallerThread thread;
        private volatile int state = OPEN;
        private @Nullable Subscription upstream;

        /** Whether the source said what it has to say. */
        private boolean ended;

        private @Nullable T value;
        private @Nullable Throwable error;

        Stayer(CoreSubscriber<? super T> actual, CallerThread thread) {
            this.actual = actual;
            this.thread = thread;
        }

        @Override
        public Context currentContext() {
            return RateLimitContext.answersOn(thread).apply(actual.currentContext());
        }

        @Override
        public void onSubscribe(Subscription subscription) {
            if (Operators.validate(upstream, subscription)) {
                upstream = subscription;
                actual.onSubscribe(this);
            }
        }

        @Override
        public void onNext(T next) {
            if (ended) {
                Operators.onNextDropped(next, actual.currentContext());
                return;
            }
            ended = true;
            value = next;
            tell();
        }

        @Override
        public void onError(Throwable thrown) {
            if (ended) {
                Operators.onErrorDropped(thrown, actual.currentContext());
                return;
            }
            ended = true;
            error = thrown;
            tell();
        }

        @Override
        public void onComplete() {
            if (!ended) {
                ended = true;
                tell();
            }
        }

        private void tell() {
            if (thread.isCurrent()) {
                run();
                return;
            }
            try {
                thread.execute(this);
            } catch (RejectedExecutionException gone) {
                refused(gone);
            }
        }

        @Override
        public void run() {
            T told = value;
            if (!STATE.compareAndSet(this, OPEN, DONE)) {
                Operators.onDiscard(told, actual.currentContext());
            } else if (error != null) {
                actual.onError(error);
            } else {
                if (told != null) {
                    actual.onNext(told);
                }
                actual.onComplete();
            }
        }

        private void refused(RejectedExecutionException gone) {
            Context context = actual.currentContext();
            Operators.onDiscard(value, context);
            if (STATE.compareAndSet(this, OPEN, DONE)) {
                actual.onError(Operators.onRejectedExecution(gone, upstream, error, null, context));
            }
        }

        @Override
        public void request(long n) {
            Subscription source = upstream;
            if (source != null) {
                source.request(n);
            }
        }

        @Override
        public void cancel() {
            Subscription source = upstream;
            if (STATE.compareAndSet(this, OPEN, CANCELLED) && source != null) {
                source.cancel();
            }
        }

        @Override
        @SuppressWarnings("rawtypes")
        public @Nullable Object scanUnsafe(Attr attribute) {
            if (attribute == Attr.PARENT) {
                return upstream;
            }
            if (attribute == Attr.ACTUAL) {
                return actual;
            }
            if (attribute == Attr.CANCELLED) {
                return state == CANCELLED;
            }
            if (attribute == Attr.TERMINATED) {
                return state == DONE;
            }
            return attribute == Attr.RUN_STYLE ? Attr.RunStyle.ASYNC : null;
        }
    }
}
