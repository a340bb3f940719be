package io.github.reactorratelimit.fairness;

import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.core.Scannable;
import reactor.core.publisher.Mono;

/** A call in line for each subscriber. */
final class MonoFair extends Mono<Object> implements Scannable {

    private final FairLine line;
    private final FairCall.Wish wish;

    MonoFair(FairLine line, FairCall.Wish wish) {
        this.line = line;
        this.wish = wish;
    }

    @Override
    public void subscribe(CoreSubscriber<? super Object> actual) {
        actual.onSubscribe(new FairCall(line, actual, wish));
    }

    @Override
    @SuppressWarnings("rawtypes")
    public @Nullable Object scanUnsafe(Attr attribute) {
        return attribute == Attr.RUN_STYLE ? Attr.RunStyle.ASYNC : null;
    }
}
