package io.github.reactorratelimit.operator;

import java.util.Objects;
import java.util.function.Function;
import reactor.util.context.ContextView;

/** Where the key comes from. */
sealed interface KeyRule<T> {

    /** One key for everything. */
    record Constant<T>(String key) implements KeyRule<T> {
        public Constant {
            if (Objects.requireNonNull(key, "key").isEmpty()) {
                throw new IllegalArgumentException("key must not be empty");
            }
        }
    }

    /** The key of each element. */
    record OfElement<T>(Function<? super T, String> key) implements KeyRule<T> {
        public OfElement {
            Objects.requireNonNull(key, "key");
        }
    }

    /** The key of each subscriber. */
    record OfContext<T>(Function<? super ContextView, String> key) implements KeyRule<T> {
        public OfContext {
            Objects.requireNonNull(key, "key");
        }
    }
}
