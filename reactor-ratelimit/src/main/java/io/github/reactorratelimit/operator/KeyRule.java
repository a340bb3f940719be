package io.github.reactorratelimit.operator;

import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import reactor.util.context.ContextView;

/**
 * Where the key comes from.
 *
 * @param constant the key of everything, if there is no function
 * @param ofElement the key of each element; null if elements have the key of their subscriber
 * @param ofContext the key of each subscriber; null if it is the constant
 */
record KeyRule<T>(
        String constant,
        @Nullable Function<? super T, String> ofElement,
        @Nullable Function<? super ContextView, String> ofContext) {

    String ofSubscriber(ContextView context) {
        return ofContext == null ? constant : Objects.requireNonNull(ofContext.apply(context), "key from the Context");
    }
}
