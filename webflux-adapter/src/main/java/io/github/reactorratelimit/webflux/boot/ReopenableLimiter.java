package io.github.reactorratelimit.webflux.boot;

import io.github.reactorratelimit.RateLimiter;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.function.Supplier;
import reactor.core.publisher.Mono;

/** A limiter that is closed when the application stops and made again when it starts: {@link #current} is the open one. */
final class ReopenableLimiter {

    private final Supplier<RateLimiter> open;
    private volatile RateLimiter current;

    ReopenableLimiter(Supplier<RateLimiter> open) {
        this.open = open;
        this.current = open.get();
    }

    RateLimiter current() {
        return current;
    }

    /** A limiter that passes every call on to the current one. */
    RateLimiter proxy() {
        return (RateLimiter) Proxy.newProxyInstance(
                RateLimiter.class.getClassLoader(), new Class<?>[] {RateLimiter.class}, (proxy, method, arguments) -> {
                    try {
                        return method.invoke(current, arguments);
                    } catch (InvocationTargetException thrown) {
                        throw thrown.getTargetException();
                    }
                });
    }

    void reopen() {
        current = open.get();
    }

    Mono<Void> close() {
        return Mono.defer(() -> current.close());
    }
}
