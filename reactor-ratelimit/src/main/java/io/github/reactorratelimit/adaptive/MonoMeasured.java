package io.github.reactorratelimit.adaptive;

import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;
import reactor.core.publisher.MonoOperator;

/** Measures each subscription as a call of its own. */
final class MonoMeasured<T> extends MonoOperator<T, T> {

    private final Observer observer;

    MonoMeasured(Mono<? extends T> source, Observer observer) {
        super(source);
        this.observer = observer;
    }

    @Override
    public void subscribe(CoreSubscriber<? super T> actual) {
        source.subscribe(new MeasuredSubscriber<>(actual, observer, true));
    }

    @Override
    @SuppressWarnings("rawtypes")
    public @Nullable Object scanUnsafe(Attr key) {
        return key == Attr.RUN_STYLE ? Attr.RunStyle.SYNC : super.scanUnsafe(key);
    }
}
