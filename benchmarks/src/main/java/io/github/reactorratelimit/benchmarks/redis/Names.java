package io.github.reactorratelimit.benchmarks.redis;

import java.util.function.IntFunction;
import java.util.stream.IntStream;

/** The keys of a contender, made before it is asked. */
final class Names {

    private Names() {}

    static String[] of(int keys) {
        return IntStream.range(0, keys).mapToObj(key -> "customer-" + key).toArray(String[]::new);
    }

    static <T> T[] of(int keys, IntFunction<T[]> array, java.util.function.Function<String, T> name) {
        return IntStream.range(0, keys)
                .mapToObj(key -> name.apply("customer-" + key))
                .toArray(array);
    }
}
