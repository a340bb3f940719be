package io.github.reactorratelimit.webflux.testing;

import io.github.reactorratelimit.Lease;
import io.github.reactorratelimit.RateLimiter;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/** Limiters that answer on another thread, as one does whose store is Redis; so do their leases when they are released. */
public final class ElsewhereLimiter {

    private ElsewhereLimiter() {}

    /** Decides as {@code limiter} does. */
    public static RateLimiter of(RateLimiter limiter) {
        return elsewhere(RateLimiter.class, limiter);
    }

    private static <T> T elsewhere(Class<T> type, T here) {
        return type.cast(Proxy.newProxyInstance(
                type.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> {
                    try {
                        Object answer = method.invoke(here, arguments);
                        return answer instanceof Mono<?> mono
                                ? mono.map(ElsewhereLimiter::released).publishOn(Schedulers.parallel())
                                : answer;
                    } catch (InvocationTargetException thrown) {
                        throw thrown.getCause();
                    }
                }));
    }

    private static Object released(Object answer) {
        return answer instanceof Lease lease ? elsewhere(Lease.class, lease) : answer;
    }
}
