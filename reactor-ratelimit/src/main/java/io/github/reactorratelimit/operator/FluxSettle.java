package io.github.reactorratelimit.operator;

import io.github.reactorratelimit.RateLimiter;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.CorePublisher;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.FluxOperator;

/** The subscription reserves permits, and settles when it ends. */
final class FluxSettle<T> extends FluxOperator<T, T> implements GateSubscriber.Gate<T> {

    private final Asking.Source<T> askings;
    private final Denial<T> denial;
    private final Account<T> account;

    FluxSettle(Flux<T> source, RateLimiter limiter, LimitSpec<T> admission, Account<T> account) {
        super(source);
        this.askings = new Asking.Source<>(limiter, admission);
        this.denial = admission.denial();
        this.account = account;
    }

    @Override
    public void subscribe(CoreSubscriber<? super T> actual) {
        Asking<T> asking = askings.orFail(actual);
        if (asking != null) {
            SettleSubscriber.enter(this, asking, account, false, actual);
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
        return Flux.from(fallback);
    }

    @Override
    @SuppressWarnings("rawtypes")
    public @Nullable Object scanUnsafe(Attr key) {
        return key == Attr.RUN_STYLE ? Attr.RunStyle.ASYNC : super.scanUnsafe(key);
    }
}
