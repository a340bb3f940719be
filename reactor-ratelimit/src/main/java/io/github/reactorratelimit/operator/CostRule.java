package io.github.reactorratelimit.operator;

import java.util.Objects;
import java.util.function.ToLongFunction;
import reactor.util.context.ContextView;

/** Where the number of permits comes from. */
sealed interface CostRule<T> {

    /** The same for everything. */
    record Constant<T>(long permits) implements CostRule<T> {
        public Constant {
            positive(permits);
        }
    }

    /** The cost of each element. */
    record OfElement<T>(ToLongFunction<? super T> permits) implements CostRule<T> {
        public OfElement {
            Objects.requireNonNull(permits, "cost");
        }
    }

    /** The cost of whatever a subscriber asks for. */
    record OfContext<T>(ToLongFunction<? super ContextView> permits) implements CostRule<T> {
        public OfContext {
            Objects.requireNonNull(permits, "cost");
        }
    }

    static long positive(long permits) {
        if (permits < 1) {
            throw new IllegalArgumentException("cost must be positive, was " + permits);
        }
        return permits;
    }
}
