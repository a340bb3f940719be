package io.github.reactorratelimit.operator;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitExceededException;
import io.github.reactorratelimit.RateLimiter;
import java.util.function.BiFunction;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;

/**
 * What happens to what was denied: an error, unless there is a function that says what takes its place.
 *
 * @param ofElement what is emitted instead of a denied element, null for nothing
 * @param ofSource what is subscribed to instead of a denied source
 * @param limiter the name of the limiter, for the error
 */
record Denial<T>(
        @Nullable BiFunction<? super T, ? super Decision, ? extends T> ofElement,
        @Nullable Function<? super Decision, ? extends Publisher<? extends T>> ofSource,
        @Nullable String limiter) {

    /** A denial is an error. */
    static <T> Denial<T> error() {
        return new Denial<>(null, null, null);
    }

    /** The same for this limiter. */
    Denial<T> of(RateLimiter denies) {
        return new Denial<>(ofElement, ofSource, denies.name());
    }

    boolean isError() {
        return ofElement == null && ofSource == null;
    }

    /**
     * What is emitted instead of a denied element: null for nothing.
     *
     * @throws RateLimitExceededException if a denial ends the stream
     */
    @Nullable
    T insteadOf(T element, Decision denied) {
        if (ofElement == null) {
            throw exceeded(denied);
        }
        return ofElement.apply(element, denied);
    }

    /**
     * What is subscribed to instead of a denied source.
     *
     * @throws RateLimitExceededException if a denial is an error
     */
    Publisher<? extends T> insteadOfSource(Decision denied) {
        if (ofSource == null) {
            throw exceeded(denied);
        }
        return ofSource.apply(denied);
    }

    /** The error of a denial. */
    RateLimitExceededException exceeded(Decision denied) {
        return new RateLimitExceededException(denied, limiter);
    }
}
