package io.github.reactorratelimit.adaptive;

import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.FluxOperator;

/** Measures each subscription as a call of its own. */
final class FluxMeasured<T> extends FluxOperator<T, T> {

    private final Observer observer;

    FluxMeasured(Flux<? extends T> source, Observer observer) {
        super(source);
        this.observer = observer;
    }

    @Override
    public void subscribe(CoreSubscriber<? super T> actual) {
        source.subscribe(new MeasuredSubscriber<>(actual, observer, false));
    }

    @Override
    @SuppressWarnings("rawtypes")
    public @Nullable Object scanUnsafe(Attr key) {
        return key == Attr.RUN_STYLE ? Attr.RunStyle.SYNC : super.scanUnsafe(key);
    }
}
