package io.github.reactorratelimit.operator;

import io.github.reactorratelimit.RateLimiter;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.CorePublisher;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;
import reactor.core.publisher.MonoOperator;

/** The subscription costs permits: the source is not subscribed before it is allowed. */
final class MonoGate<T> extends MonoOperator<T, T> implements GateSubscriber.Gate<T> {

    private final RateLimiter limiter;
    private final LimitSpec<T> spec;

    MonoGate(Mono<T> source, RateLimiter limiter, LimitSpec<T> spec) {
        super(source);
        this.limiter = limiter;
        this.spec = spec;
    }

    @Override
    public void subscribe(CoreSubscriber<? super T> actual) {
        GateSubscriber.enter(this, actual);
    }

    @Override
    public RateLimiter limiter() {
        return limiter;
    }

    @Override
    public LimitSpec<T> spec() {
        return spec;
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
