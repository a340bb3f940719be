package io.github.reactorratelimit.operator;

import io.github.reactorratelimit.RateLimiter;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.CorePublisher;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;
import reactor.core.publisher.MonoOperator;

/** The subscription reserves permits, and settles when it ends, or when its value is there. */
final class MonoSettle<T> extends MonoOperator<T, T> implements GateSubscriber.Gate<T> {

    private final Asking.Source<T> askings;
    private final Denial<T> denial;
    private final Account<T> account;

    MonoSettle(Mono<T> source, RateLimiter limiter, LimitSpec<T> admission, Account<T> account) {
        super(source);
        this.askings = new Asking.Source<>(limiter, admission);
        this.denial = admission.denial();
        this.account = account;
    }

    @Override
    public void subscribe(CoreSubscriber<? super T> actual) {
        Asking<T> asking = askings.orFail(actual);
        if (asking != null) {
            SettleSubscriber.enter(this, asking, account, true, actual);
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
