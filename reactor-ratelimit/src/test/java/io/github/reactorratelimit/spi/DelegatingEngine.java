package io.github.reactorratelimit.spi;

import java.time.Duration;
import java.time.Instant;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** Another engine, for tests that change one of its methods. */
class DelegatingEngine implements CompareAndSwapEngine {

    private final CompareAndSwapEngine engine;

    DelegatingEngine(CompareAndSwapEngine engine) {
        this.engine = engine;
    }

    @Override
    public Mono<byte[]> get(String key) {
        return engine.get(key);
    }

    @Override
    public Mono<Boolean> compareAndSet(String key, byte @Nullable [] expected, byte[] next, Duration timeToLive) {
        return engine.compareAndSet(key, expected, next, timeToLive);
    }

    @Override
    public Mono<Boolean> compareAndRemove(String key, byte[] expected) {
        return engine.compareAndRemove(key, expected);
    }

    @Override
    public Mono<Instant> now() {
        return engine.now();
    }
}
