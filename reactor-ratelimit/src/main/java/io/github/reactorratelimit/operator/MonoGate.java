package io.github.reactorratelimit.operator;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.RateLimiter;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.CorePublisher;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;
import reactor.core.publisher.MonoOperator;

/** The subscription costs permits: the source is not subscribed before it is allowed. */
final class MonoGate<T> extends MonoOperator<T, T> implements GateSubscriber.Gate<T> {

    private final Asking.Source<T> askings;
    private final Denial<T> denial;
    private final boolean leased;

    MonoGate(Mono<T> source, RateLimiter limiter, LimitSpec<T> spec) {
        super(source);
        this.askings = new Asking.Source<>(limiter, spec);
        this.denial = spec.denial();
        this.leased = limiter.policy() instanceof ConcurrencyLimit;
    }

    @Override
    public void subscribe(CoreSubscriber<? super T> actual) {
        Asking<T> asking = askings.orFail(actual);
        if (asking != null) {
            GateSubscriber.enter(this, asking, leased, actual);
        }
    }

    @Override
    public Denial<T> denial() {
        return denial;
    }

    @Override
    public CorePublisher<? extends T> source() {
        return source;
    }

    @Override
    public CorePublisher<? extends T> standIn(Publisher<? extends T> fallback) {
        return Mono.from(fallback);
    }

    @Override
    @SuppressWarnings("rawtypes")
    public @Nullable Object scanUnsafe(Attr key) {
        return key == Attr.RUN_STYLE ? Attr.RunStyle.ASYNC : super.scanUnsafe(key);
    }
}
