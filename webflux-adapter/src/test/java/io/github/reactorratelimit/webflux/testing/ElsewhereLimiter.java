package io.github.reactorratelimit.webflux.testing;

import io.github.reactorratelimit.RateLimiter;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/** Limiters that answer on another thread, as one does whose store is Redis. */
public final class ElsewhereLimiter {

    private ElsewhereLimiter() {}

    /** Decides as {@code limiter} does. */
    public static RateLimiter of(RateLimiter limiter) {
        return (RateLimiter) Proxy.newProxyInstance(
                RateLimiter.class.getClassLoader(), new Class<?>[] {RateLimiter.class}, (proxy, method, arguments) -> {
                    try {
                        Object answer = method.invoke(limiter, arguments);
                        return answer instanceof Mono<?> mono ? mono.publishOn(Schedulers.parallel()) : answer;
                    } catch (InvocationTargetException thrown) {
                        throw thrown.getCause();
                    }
                });
    }
}
