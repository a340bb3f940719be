package io.github.reactorratelimit.webflux.fragile;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimiter;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.function.UnaryOperator;
import reactor.core.publisher.Mono;

/** A limiter that decides as another does, and tells calls which slot they were given. */
final class TracedLimiter {

    private TracedLimiter() {}

    /**
     * Tells the {@link Call} in the Context of whoever asks.
     *
     * @param pausing what is done around a pause of the limiter, which it is given
     */
    static RateLimiter of(RateLimiter limiter, UnaryOperator<Mono<Void>> pausing) {
        return (RateLimiter) Proxy.newProxyInstance(
                RateLimiter.class.getClassLoader(), new Class<?>[] {RateLimiter.class}, (proxy, method, arguments) -> {
                    if (method.getName().startsWith("pause")) {
                        return pausing.apply(invoke(limiter, method, arguments));
                    }
                    if (method.getName().equals("acquire") && arguments[arguments.length - 1] instanceof Duration) {
                        Mono<Decision> answer = invoke(limiter, method, arguments);
                        return Mono.deferContextual(context -> answer.doOnNext(
                                decision -> context.get(Call.class).granted(decision)));
                    }
                    return invoke(limiter, method, arguments);
                });
    }

    @SuppressWarnings("unchecked")
    private static <T> T invoke(RateLimiter limiter, Method method, Object[] arguments) throws Throwable {
        try {
            return (T) method.invoke(limiter, arguments);
        } catch (InvocationTargetException thrown) {
            throw thrown.getCause();
        }
    }
}
