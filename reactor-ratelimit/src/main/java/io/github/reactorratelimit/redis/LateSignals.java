package io.github.reactorratelimit.redis;

import org.jspecify.annotations.Nullable;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.publisher.Mono;

/** Signals over a connection that is being made. What is published before goes nowhere: nobody could have taken anything. */
final class LateSignals implements Signals {

    private final Mono<Signals> arriving;
    private final Disposable.Swap waiting = Disposables.swap();
    private volatile @Nullable Signals there;
    private volatile boolean closed;

    LateSignals(Mono<Signals> arriving) {
        this.arriving = arriving;
    }

    @Override
    public void listen(Listener listener) {
        waiting.update(arriving.subscribe(signals -> {
            signals.listen(listener);
            there = signals;
            if (closed) {
                signals.close().subscribe();
            }
        }));
    }

    @Override
    public void publish(Kind kind, String subject) {
        Signals now = there;
        if (now != null) {
            now.publish(kind, subject);
        }
    }

    @Override
    public Mono<Void> close() {
        return Mono.defer(() -> {
            closed = true;
            waiting.dispose();
            Signals now = there;
            return now == null ? Mono.empty() : now.close();
        });
    }
}
