package io.github.reactorratelimit.operator;

import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;

/** What the subscribers that limit the elements they are sent have in common. */
abstract class ElementSubscriber<T> extends ElementSubscription<T> implements CoreSubscriber<T> {

    ElementSubscriber(CoreSubscriber<? super T> actual, Asking<T> asking, Denial<T> denial) {
        super(actual, asking, denial);
    }

    @Override
    public final void onSubscribe(Subscription s) {
        if (setUpstream(s)) {
            actual.onSubscribe(subscriptionOver(s));
        }
    }

    /** What downstream requests from: this, unless there is a better way to get at the elements. */
    Subscription subscriptionOver(Subscription s) {
        return this;
    }
}
