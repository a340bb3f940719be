package io.github.reactorratelimit.benchmarks.local;

import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.util.Arrays;

/**
 * The decision that the operators use, without a Mono. It is not public, and its place differs between jars
 * of the core, so it is looked up once by name; the compiler inlines a constant method handle like a plain
 * call.
 */
final class FastPath {

    private static final String NAME = "tryAcquireNow";
    private static final MethodHandle TRY_ACQUIRE = find();

    private FastPath() {}

    static boolean tryAcquire(RateLimiter limiter, String key, long permits) {
        try {
            return (boolean) TRY_ACQUIRE.invokeExact(limiter, key, permits);
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    private static MethodHandle find() {
        RateLimiter limiter = RateLimiter.of(TokenBucket.perSecond(1));
        try {
            Class<?> type = limiter.getClass();
            Method method = Arrays.stream(type.getMethods())
                    .filter(each -> each.getName().equals(NAME)
                            && Arrays.equals(each.getParameterTypes(), new Class<?>[] {String.class, long.class}))
                    .findFirst()
                    .orElseThrow(() -> new IllegalStateException(type + " has no " + NAME + "(String, long)"));
            return MethodHandles.privateLookupIn(method.getDeclaringClass(), MethodHandles.lookup())
                    .unreflect(method)
                    .asType(MethodType.methodType(boolean.class, RateLimiter.class, String.class, long.class));
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        } finally {
            limiter.dispose();
        }
    }
}
