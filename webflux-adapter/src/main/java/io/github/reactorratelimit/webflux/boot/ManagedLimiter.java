package io.github.reactorratelimit.webflux.boot;

import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.webflux.boot.LimitProperties.StoreKind;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.function.Supplier;
import reactor.core.publisher.Mono;

/** A limiter that is closed when the application stops and made again when it starts: {@link #current} is the open one. */
final class ManagedLimiter {

    private final StoreKind store;
    private final LimitStatistics statistics;
    private final Supplier<RateLimiter> open;
    private final RateLimiter proxy;
    private volatile RateLimiter current;

    /**
     * @param store where it lives
     * @param statistics counts its decisions
     * @param open makes it
     */
    ManagedLimiter(StoreKind store, LimitStatistics statistics, Supplier<RateLimiter> open) {
        this.store = store;
        this.statistics = statistics;
        this.open = open;
        this.current = open.get();
        this.proxy = store == StoreKind.REDIS ? proxy() : current;
    }

    private RateLimiter proxy() {
        return (RateLimiter) Proxy.newProxyInstance(
                RateLimiter.class.getClassLoader(), new Class<?>[] {RateLimiter.class}, (proxy, method, arguments) -> {
                    try {
                        return method.invoke(current, arguments);
                    } catch (InvocationTargetException thrown) {
                        throw thrown.getTargetException();
                    }
                });
    }

    StoreKind store() {
        return store;
    }

    LimitStatistics statistics() {
        return statistics;
    }

    RateLimiter current() {
        return current;
    }

    /** The same limiter before and after a restart: passes every call on to the current one. */
    RateLimiter stable() {
        return proxy;
    }

    void reopen() {
        current = open.get();
    }

    Mono<Void> close() {
        return Mono.defer(() -> current.isDisposed() ? Mono.empty() : current.close());
    }
}
