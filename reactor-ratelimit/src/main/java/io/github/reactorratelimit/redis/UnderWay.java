package io.github.reactorratelimit.redis;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;

/** Calls that nobody waits for, until somebody closes and wants to know that they have ended. */
final class UnderWay {

    private final AtomicInteger count = new AtomicInteger();
    private final AtomicReference<Sinks.@Nullable Empty<Void>> awaited = new AtomicReference<>();

    /** Counts each subscription until it ends, which every call does within its deadline. */
    <T> Mono<T> track(Mono<T> call) {
        return Mono.defer(() -> {
            count.incrementAndGet();
            return call.doFinally(end -> {
                if (count.decrementAndGet() == 0) {
                    tell();
                }
            });
        });
    }

    /** When none is under way. */
    Mono<Void> ended() {
        return Mono.defer(() -> {
            Sinks.Empty<Void> sink = Sinks.empty();
            Sinks.Empty<Void> first = awaited.compareAndExchange(null, sink);
            if (count.get() == 0) {
                tell();
            }
            return (first == null ? sink : first).asMono();
        });
    }

    private void tell() {
        Sinks.Empty<Void> sink = awaited.getAndSet(null);
        if (sink != null) {
            sink.tryEmitEmpty();
        }
    }
}
