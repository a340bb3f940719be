package io.github.reactorratelimit.operator;

import io.github.reactorratelimit.RateLimitExceededException;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import java.util.Objects;
import java.util.function.UnaryOperator;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Mono;

/**
 * Limits the rate of a Flux or Mono, for {@code transform} and {@code transformDeferred}.
 *
 * <pre>{@code
 * orders.transform(limitRate(TokenBucket.perSecond(100).withBurst(20)));
 *
 * orders.transform(limitRate(limiter, spec -> spec
 *         .key(Order::customerId).cost(Order::lines).maxWait(ofSeconds(2))));
 *
 * quotes.fetch(symbol).transform(limitRate(limiter, spec -> spec.key("quotes").reject()));
 * }</pre>
 *
 * <p>In a <strong>Flux</strong> each element costs a permit. While an element waits, nothing more is
 * requested of upstream: waiting is backpressure. {@link LimitSpec#perSubscription()} limits the subscription
 * instead. Of a <strong>Mono</strong> the subscription costs the permit, and the source is subscribed only
 * when it is allowed. A Mono yields a Mono, anything else a Flux. {@code ParallelFlux} is not supported:
 * limit before {@code parallel()} or after {@code sequential()}.
 *
 * <p>Nothing happens before subscription, and each subscription requests permits again ({@code retry}, {@code
 * repeat}). If a permit is available, the stream continues on its own thread. After a wait, signals come on
 * {@code Schedulers.boundedElastic()}, or on the scheduler that the limiter was {@linkplain
 * io.github.reactorratelimit.RateLimiterBuilder#scheduler given}. Cancelling leaves the queue and refunds
 * permits that were granted and not used. An element that is held when the stream is cancelled or fails goes
 * to the discard hook; an error from upstream does not wait behind it. A cost above the policy's capacity is
 * an error immediately.
 *
 * @apiNote Reactor's own {@code Flux.limitRate(int)} is about demand, how many elements are requested at a
 *     time; it has nothing to do with time. A variable needs the type spelt out, because nothing else tells
 *     it: {@code var paced = RateLimitOperators.<Order>limitRate(policy);}
 */
public final class RateLimitOperators {

    private RateLimitOperators() {}

    /**
     * Paces a Flux with a limiter in this process, which is made now and shared by all subscribers. Each
     * element waits until it is allowed.
     *
     * <pre>{@code
     * Flux<Order> paced = orders.transform(limitRate(TokenBucket.perSecond(100)));
     * }</pre>
     *
     * <p>Refused on a Mono: a method that builds one per call would make a limiter per call, and limit
     * nothing. Share a limiter instead, with {@link #limitRate(RateLimiter)}. A Flux that is built per
     * request has the same problem: a call site that makes 100 limiters within a minute is logged once, as a
     * warning.
     */
    public static <T> UnaryOperator<Publisher<T>> limitRate(RateLimitPolicy policy) {
        UnaryOperator<Publisher<T>> operator = limitRate(RateLimiter.of(policy));
        LimiterPerCall.made(RateLimitOperators.class);
        return source -> {
            if (source instanceof Mono) {
                throw new IllegalArgumentException(
                        "limitRate(policy) on a Mono makes a limiter for each call and limits"
                                + " nothing; share one: static final RateLimiter LIMITER = RateLimiter.of(policy);"
                                + " then mono.transform(limitRate(LIMITER))");
            }
            return operator.apply(source);
        };
    }

    /** Limits each element of a Flux or the subscription of a Mono with the defaults of {@link LimitSpec}. */
    public static <T> UnaryOperator<Publisher<T>> limitRate(RateLimiter limiter) {
        return new LimitRate<>(Objects.requireNonNull(limiter, "limiter"), LimitSpec.defaults());
    }

    /**
     * Limits a Flux or Mono as {@code spec} says: key, cost, how long to wait, what a denial does (default: a
     * {@link RateLimitExceededException}).
     *
     * @throws IllegalArgumentException if the choices contradict each other; a choice that does not fit the
     *     source, such as the key of an element on a Mono, is refused when this is applied to it
     */
    public static <T> UnaryOperator<Publisher<T>> limitRate(RateLimiter limiter, UnaryOperator<LimitSpec<T>> spec) {
        Objects.requireNonNull(limiter, "limiter");
        LimitSpec<T> chosen = Objects.requireNonNull(spec, "spec").apply(LimitSpec.defaults());
        return new LimitRate<>(limiter, Objects.requireNonNull(chosen, "what spec returned"));
    }
}
