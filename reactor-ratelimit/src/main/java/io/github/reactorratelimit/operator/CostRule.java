package io.github.reactorratelimit.operator;

import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;
import reactor.util.context.ContextView;

/**
 * Where the number of permits comes from.
 *
 * @param constant the cost of everything, if there is no function
 * @param ofElement the cost of each element; null if elements have the cost of their subscriber
 * @param ofContext the cost of whatever a subscriber requests; null if it is the constant
 */
record CostRule<T>(
        long constant,
        @Nullable ToLongFunction<? super T> ofElement,
        @Nullable ToLongFunction<? super ContextView> ofContext) {

    long ofSubscriber(ContextView context) {
        return ofContext == null ? constant : positive(ofContext.applyAsLong(context));
    }

    static long positive(long permits) {
        if (permits < 1) {
            throw new IllegalArgumentException("cost must be positive, was " + permits);
        }
        return permits;
    }
}
