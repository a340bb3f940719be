package io.github.reactorratelimit.waiting;

import io.github.reactorratelimit.Decision;
import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.core.Scannable;
import reactor.core.publisher.Mono;

/** A waiter for each subscriber. */
final class MonoAwait extends Mono<Decision> implements Scannable {

    private final WaitingRoom<?> room;
    private final Place place;
    private final long permits;
    private final long maxWaitNanos;

    MonoAwait(WaitingRoom<?> room, Place place, long permits, long maxWaitNanos) {
        this.room = room;
        this.place = place;
        this.permits = permits;
        this.maxWaitNanos = maxWaitNanos;
    }

    @Override
    public void subscribe(CoreSubscriber<? super Decision> actual) {
        actual.onSubscribe(new Waiter(room, place, actual, permits, maxWaitNanos));
    }

    @Override
    @SuppressWarnings("rawtypes")
    public @Nullable Object scanUnsafe(Attr attribute) {
        return attribute == Attr.RUN_STYLE ? Attr.RunStyle.ASYNC : null;
    }
}
