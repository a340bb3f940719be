package io.github.reactorratelimit.operator;

import io.github.reactorratelimit.RateLimiter;
import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.FluxOperator;

/** A Flux behind a {@link Gate}. */
final class FluxGate<T> extends FluxOperator<T, T> {

    private final Gate<T> gate;

    FluxGate(Flux<T> source, RateLimiter limiter, LimitSpec<T> spec) {
        super(source);
        this.gate = new Gate<>(source, limiter, spec);
    }

    @Override
    public void subscribe(CoreSubscriber<? super T> actual) {
        GateSubscriber.subscribe(gate, actual);
    }

    @Override
    @SuppressWarnings("rawtypes")
    public @Nullable Object scanUnsafe(Attr key) {
        return key == Attr.RUN_STYLE ? Attr.RunStyle.ASYNC : super.scanUnsafe(key);
    }
}
