package io.github.reactorratelimit.operator;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitExceededException;
import java.time.Duration;
import java.util.Objects;
import java.util.function.Function;
import java.util.function.ToLongFunction;
import org.reactivestreams.Publisher;
import reactor.util.context.ContextView;

/**
 * Says how a stream is charged while it runs: which key, how many permits are reserved first, what an element
 * costs, how long to wait, what a denial does. Immutable: each method returns another spec, and of several
 * calls about the same choice the last one counts.
 *
 * <pre>{@code
 * answer.transform(chargeStream(limiter, spec -> spec.key("tenant").estimate(500).cost(Chunk::tokens)));
 * }</pre>
 *
 * <p>By default everything has the key {@value LimitSpec#DEFAULT_KEY}, one permit is reserved, each element
 * costs one, and the stream waits indefinitely. It fails with {@link RateLimitExceededException} if it is
 * denied.
 *
 * @param <T> the elements of the stream
 * @see RateLimitOperators#chargeStream
 */
public final class ChargeSpec<T> {

    private final LimitSpec<T> admission;
    private final ToLongFunction<? super T> cost;
    private final long step;

    private ChargeSpec(LimitSpec<T> admission, ToLongFunction<? super T> cost, long step) {
        this.admission = admission;
        this.cost = cost;
        this.step = step;
    }

    static <T> ChargeSpec<T> defaults() {
        return new ChargeSpec<>(LimitSpec.<T>defaults().perSubscription(), element -> 1, 0);
    }

    /**
     * One key for all subscribers.
     *
     * @throws IllegalArgumentException if it is empty
     */
    public ChargeSpec<T> key(String key) {
        return with(admission.key(key));
    }

    /** The key of a subscriber, read from its Reactor Context once per subscription. */
    public ChargeSpec<T> keyFromContext(Function<? super ContextView, String> key) {
        return with(admission.keyFromContext(key));
    }

    /**
     * Permits that are reserved before the source is subscribed.
     *
     * @throws IllegalArgumentException if it is below 1
     */
    public ChargeSpec<T> estimate(long permits) {
        return with(admission.cost(permits));
    }

    /**
     * Permits that are reserved for a subscriber, at least 1, read from its Reactor Context once per
     * subscription.
     */
    public ChargeSpec<T> estimateFromContext(ToLongFunction<? super ContextView> permits) {
        return with(admission.costFromContext(permits));
    }

    /**
     * Permits each element costs, perhaps 0. A cost below 0, or an exception, ends the stream with an error.
     */
    public ChargeSpec<T> cost(ToLongFunction<? super T> permits) {
        return new ChargeSpec<>(admission, Objects.requireNonNull(permits, "permits"), step);
    }

    /**
     * How much more than the reserved permits may be spent before it is charged. Default: a quarter of the
     * estimate. Each step is one call to the store, and at most one is in flight.
     *
     * @throws IllegalArgumentException if it is below 1
     */
    public ChargeSpec<T> step(long permits) {
        return new ChargeSpec<>(admission, cost, CostRule.positive(permits));
    }

    /**
     * How long a subscription may wait for what it reserves: zero never waits.
     *
     * @throws IllegalArgumentException if it is negative
     */
    public ChargeSpec<T> maxWait(Duration maxWait) {
        return with(admission.maxWait(maxWait));
    }

    /** Never waits; a denial is a {@link RateLimitExceededException}. */
    public ChargeSpec<T> reject() {
        return with(admission.reject());
    }

    /** A denied subscription completes empty. Never waits unless {@link #maxWait} is given. */
    public ChargeSpec<T> drop() {
        return with(admission.drop());
    }

    /**
     * A denied subscription continues with another Publisher, which is not charged. Never waits unless {@link
     * #maxWait} is given.
     */
    public ChargeSpec<T> fallback(Function<? super Decision, ? extends Publisher<? extends T>> fallback) {
        return with(admission.fallback(fallback));
    }

    private ChargeSpec<T> with(LimitSpec<T> other) {
        return new ChargeSpec<>(other, cost, step);
    }

    LimitSpec<T> admission() {
        return admission;
    }

    ChargeRule<T> charge() {
        return new ChargeRule.OfStream<>(cost, step);
    }
}
