package io.github.reactorratelimit.waiting;

import io.github.reactorratelimit.Decision;
import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.core.Scannable;
import reactor.core.publisher.Mono;

/** A place in line for each subscriber. */
final class MonoAwait extends Mono<Decision> implements Scannable {

    private final WaitLines lines;
    private final String key;
    private final Desk desk;
    private final long permits;
    private final long maxWaitNanos;

    MonoAwait(WaitLines lines, String key, Desk desk, long permits, long maxWaitNanos) {
        this.lines = lines;
        this.key = key;
        this.desk = desk;
        this.permits = permits;
        this.maxWaitNanos = maxWaitNanos;
    }

    @Override
    public void subscribe(CoreSubscriber<? super Decision> actual) {
        actual.onSubscribe(new Waiter(lines, actual, key, desk, permits, maxWaitNanos));
    }

    @Override
    @SuppressWarnings("rawtypes")
    public @Nullable Object scanUnsafe(Attr attribute) {
        return attribute == Attr.RUN_STYLE ? Attr.RunStyle.ASYNC : null;
    }
}
