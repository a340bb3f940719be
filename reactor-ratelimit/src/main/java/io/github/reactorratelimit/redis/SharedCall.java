package io.github.reactorratelimit.redis;

import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** A call that is made once for all who need it at the same time, and goes on if they leave. */
final class SharedCall {

    private final Supplier<Mono<Void>> call;
    private final AtomicReference<@Nullable Mono<Void>> underWay = new AtomicReference<>();

    SharedCall(Supplier<Mono<Void>> call) {
        this.call = call;
    }

    /** The one that is under way, or a new one. */
    Mono<Void> join() {
        return Mono.defer(() -> {
            for (; ; ) {
                Mono<Void> other = underWay.get();
                if (other != null) {
                    return other;
                }
                // Before anybody hears of its end, so that whoever asks again because of that makes a new one.
                Mono<Void> mine =
                        Mono.defer(call).doOnTerminate(() -> underWay.set(null)).cache();
                if (underWay.compareAndSet(null, mine)) {
                    return mine;
                }
            }
        });
    }

    /** One that begins from now on. */
    Mono<Void> fresh() {
        return Mono.defer(() -> {
            Mono<Void> older = underWay.get();
            return older == null ? join() : older.onErrorComplete().then(join());
        });
    }
}
