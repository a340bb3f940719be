package io.github.reactorratelimit.operator;

import java.util.concurrent.atomic.AtomicInteger;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Operators;
import reactor.util.context.Context;

/** Both ends of an operator under test: a source that signals whatever it is told, a subscriber that counts. */
final class Probe implements CoreSubscriber<Integer> {

    final AtomicInteger emitted = new AtomicInteger();
    final AtomicInteger discarded = new AtomicInteger();
    final AtomicInteger completed = new AtomicInteger();
    final AtomicInteger failed = new AtomicInteger();
    final AtomicInteger subscribed = new AtomicInteger();
    final AtomicInteger upstreamCancelled = new AtomicInteger();

    /** Counts elements: Reactor also discards a decision that a cancelled turn did not take. */
    private final Context context = Operators.enableOnDiscard(Context.empty(), x -> {
        if (x instanceof Integer) {
            discarded.incrementAndGet();
        }
    });

    CoreSubscriber<? super Integer> upstream;

    /** Whatever the sides of a race want to remember. */
    int seenByLeft;

    int seenByRight;

    /** The probe that came before it in the same lane, where that matters. */
    Probe before;

    private Subscription downstream;
    private long firstRequest = Long.MAX_VALUE;

    Flux<Integer> source() {
        return new Flux<>() {
            @Override
            public void subscribe(CoreSubscriber<? super Integer> actual) {
                upstream = actual;
                subscribed.incrementAndGet();
                actual.onSubscribe(new Subscription() {
                    @Override
                    public void request(long n) {}

                    @Override
                    public void cancel() {
                        upstreamCancelled.incrementAndGet();
                    }
                });
            }
        };
    }

    /** Asks for one element when it subscribes, not for all. */
    Probe asksForOne() {
        firstRequest = 1;
        return this;
    }

    void request(long n) {
        downstream.request(n);
    }

    void cancel() {
        downstream.cancel();
    }

    int ends() {
        return completed.get() + failed.get();
    }

    @Override
    public Context currentContext() {
        return context;
    }

    @Override
    public void onSubscribe(Subscription s) {
        downstream = s;
        s.request(firstRequest);
    }

    @Override
    public void onNext(Integer element) {
        emitted.incrementAndGet();
    }

    @Override
    public void onError(Throwable failure) {
        failed.incrementAndGet();
    }

    @Override
    public void onComplete() {
        completed.incrementAndGet();
    }

    @Override
    public String toString() {
        return "emitted " + emitted + ", discarded " + discarded + ", completed " + completed + ", failed " + failed
                + ", subscribed " + subscribed + ", upstream cancelled " + upstreamCancelled;
    }
}
