package io.github.reactorratelimit.adaptive;

import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Signal;

/**
 * Reports when a call was sent, when it came back and when it ended. A Mono comes back with its value or its
 * end. A Flux comes back with its first element, because the length of a stream is no latency, and again if
 * it fails later. A call that is cancelled before only ends.
 */
final class MeasuredCall {

    private final CallObserver observer;
    private final boolean single;
    private final long startedNanos;

    /** The thread that sets it reports the end, once. */
    private final AtomicBoolean ended = new AtomicBoolean();

    private boolean cameBack;

    /** @param single whether the first element ends the call */
    private MeasuredCall(CallObserver observer, boolean single) {
        this.observer = observer;
        this.single = single;
        this.startedNanos = observer.started();
    }

    /** Each subscription is a call; it is reported before its signal is passed on. */
    static <T> Publisher<T> measured(Publisher<T> source, CallObserver observer) {
        if (source instanceof Mono<T> mono) {
            return Mono.defer(() -> {
                MeasuredCall call = new MeasuredCall(observer, true);
                return mono.doOnEach(call::report).doOnCancel(call::end);
            });
        }
        return Flux.defer(() -> {
            MeasuredCall call = new MeasuredCall(observer, false);
            return Flux.from(source).doOnEach(call::report).doOnCancel(call::end);
        });
    }

    private void report(Signal<?> signal) {
        boolean isFirst = !cameBack;
        cameBack = true;
        if (!ended.get() && (isFirst || signal.isOnError())) {
            observer.cameBack(startedNanos, outcome(signal));
        }
        if (single || !signal.isOnNext()) {
            end();
        }
    }

    private CallOutcome outcome(Signal<?> signal) {
        if (signal.isOnError()) {
            return observer.outcomes()
                    .ofFailure(Objects.requireNonNull(signal.getThrowable()), signal.getContextView());
        }
        return signal.isOnNext()
                ? observer.outcomes().ofValue(Objects.requireNonNull(signal.get()), signal.getContextView())
                : CallOutcome.SUCCESS;
    }

    private void end() {
        if (ended.compareAndSet(false, true)) {
            observer.ended();
        }
    }
}
