package io.github.reactorratelimit.webflux.testing;

import io.github.reactorratelimit.RateLimiter;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import reactor.core.publisher.Mono;

/** Limiters that give back when they are told to, as one does whose store is slow. */
public final class SlowRefunds {

    private SlowRefunds() {}

    /** Decides as {@code limiter} does, and refunds once {@code mayRefund} has completed. */
    public static RateLimiter of(RateLimiter limiter, Mono<Void> mayRefund) {
        return (RateLimiter) Proxy.newProxyInstance(
                RateLimiter.class.getClassLoader(), new Class<?>[] {RateLimiter.class}, (proxy, method, arguments) -> {
                    try {
                        Object answer = method.invoke(limiter, arguments);
                        return method.getName().equals("refund") ? mayRefund.then((Mono<?>) answer) : answer;
                    } catch (InvocationTargetException thrown) {
                        throw thrown.getCause();
                    }
                });
    }
}
