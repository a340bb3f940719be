package io.github.reactorratelimit.operator;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitExceededException;
import io.github.reactorratelimit.RateLimiter;
import java.util.Objects;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Mono;

/** What happens to what was denied. */
sealed interface Denial<T> {

    /**
     * What is emitted instead of a denied element: null for nothing.
     *
     * @throws RateLimitExceededException if a denial ends the stream
     */
    default @Nullable T insteadOf(T element, Decision denied) {
        throw exceeded(denied);
    }

    /**
     * What is subscribed to instead of a denied source.
     *
     * @throws RateLimitExceededException if a denial is an error
     */
    default Publisher<? extends T> insteadOfSource(Decision denied) {
        throw exceeded(denied);
    }

    /** The error of a denial. */
    default RateLimitExceededException exceeded(Decision denied) {
        return new RateLimitExceededException(denied);
    }

    /** The same for this limiter. */
    default Denial<T> of(RateLimiter limiter) {
        return this;
    }

    /** An error that carries the decision, and the name of the limiter. */
    record Fail<T>(@Nullable String limiter) implements Denial<T> {

        @Override
        public RateLimitExceededException exceeded(Decision denied) {
            return new RateLimitExceededException(denied, limiter);
        }

        @Override
        public Denial<T> of(RateLimiter denies) {
            return new Fail<>(denies.name());
        }
    }

    /** Left out; the callback runs before the element is discarded. */
    record Drop<T>(@Nullable BiConsumer<? super T, ? super Decision> onDropped) implements Denial<T> {

        @Override
        public @Nullable T insteadOf(T element, Decision denied) {
            if (onDropped != null) {
                onDropped.accept(element, denied);
            }
            return null;
        }

        @Override
        public Publisher<? extends T> insteadOfSource(Decision denied) {
            return Mono.empty();
        }
    }

    /** Another element in its place. */
    record Replace<T>(BiFunction<? super T, ? super Decision, ? extends T> fallback) implements Denial<T> {

        @Override
        public T insteadOf(T element, Decision denied) {
            return Objects.requireNonNull(fallback.apply(element, denied), "fallback returned null");
        }
    }

    /** Another source in its place. */
    record Switch<T>(Function<? super Decision, ? extends Publisher<? extends T>> fallback) implements Denial<T> {

        @Override
        public Publisher<? extends T> insteadOfSource(Decision denied) {
            return Objects.requireNonNull(fallback.apply(denied), "fallback returned null");
        }
    }
}
