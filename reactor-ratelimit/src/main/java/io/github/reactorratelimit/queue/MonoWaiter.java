package io.github.reactorratelimit.queue;

import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.core.Scannable;
import reactor.core.publisher.Mono;

/** A waiter for each subscriber. */
public final class MonoWaiter<T> extends Mono<T> implements Scannable {

    private final Function<CoreSubscriber<? super T>, Waiter<T>> waiters;

    /** @param waiters makes the waiter of a subscriber */
    public MonoWaiter(Function<CoreSubscriber<? super T>, Waiter<T>> waiters) {
        this.waiters = waiters;
    }

    @Override
    public void subscribe(CoreSubscriber<? super T> actual) {
        actual.onSubscribe(waiters.apply(actual));
    }

    @Override
    @SuppressWarnings("rawtypes")
    public @Nullable Object scanUnsafe(Attr attribute) {
        return attribute == Attr.RUN_STYLE ? Attr.RunStyle.ASYNC : null;
    }
}
