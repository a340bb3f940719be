package io.github.reactorratelimit.operator;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitExceededException;
import java.time.Duration;
import java.util.Objects;
import java.util.OptionalInt;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Mono;
import reactor.util.context.ContextView;

/**
 * Says how a stream uses a limiter: which key, at what cost, how long to wait, what a denial does. Immutable:
 * each method returns another spec, and of several calls about the same choice the last one counts.
 *
 * <pre>{@code
 * orders.transform(limitRate(limiter, spec -> spec
 *         .key(Order::customerId).cost(Order::lines).maxWait(ofSeconds(2)).drop()));
 * }</pre>
 *
 * <p>By default everything has the key {@value #DEFAULT_KEY}, costs one permit and waits indefinitely. It
 * fails with {@link RateLimitExceededException} only if the queue is full or a deadline in the Reactor
 * Context would pass.
 *
 * @param <T> the elements of the stream
 * @see RateLimitOperators#limitRate(io.github.reactorratelimit.RateLimiter,
 *     java.util.function.UnaryOperator)
 */
public final class LimitSpec<T> {

    /** The default key: all streams without a key count together. */
    public static final String DEFAULT_KEY = "default";

    private static final Duration UNBOUNDED = Duration.ofNanos(Long.MAX_VALUE);

    final KeyRule<T> key;
    final CostRule<T> cost;
    final Denial<T> denial;

    /** Elements that may be held if others may overtake; empty if the order is kept. */
    final OptionalInt maxHeld;

    final boolean perSubscription;
    final ChargeRule<T> charge;
    private final @Nullable Duration maxWait;

    private LimitSpec(
            KeyRule<T> key,
            CostRule<T> cost,
            @Nullable Duration maxWait,
            Denial<T> denial,
            OptionalInt maxHeld,
            boolean perSubscription,
            ChargeRule<T> charge) {
        this.key = key;
        this.cost = cost;
        this.maxWait = maxWait;
        this.denial = denial;
        this.maxHeld = maxHeld;
        this.perSubscription = perSubscription;
        this.charge = charge;
    }

    static <T> LimitSpec<T> defaults() {
        return new LimitSpec<>(
                new KeyRule<>(DEFAULT_KEY, null, null),
                new CostRule<>(1, null, null),
                null,
                Denial.error(),
                OptionalInt.empty(),
                false,
                new ChargeRule<>(null, null, false));
    }

    /**
     * One key for the whole stream.
     *
     * @throws IllegalArgumentException if it is empty
     */
    public LimitSpec<T> key(String key) {
        if (Objects.requireNonNull(key, "key").isEmpty()) {
            throw new IllegalArgumentException("key must not be empty");
        }
        return withKey(new KeyRule<>(key, null, null));
    }

    /** The key of each element, for a Flux that is limited per element. It may be called on any thread. */
    public LimitSpec<T> key(Function<? super T, String> key) {
        return withKey(new KeyRule<>(DEFAULT_KEY, Objects.requireNonNull(key, "key"), null));
    }

    /** The key of a subscriber, read from its Reactor Context once per subscription. */
    public LimitSpec<T> keyFromContext(Function<? super ContextView, String> key) {
        return withKey(new KeyRule<>(DEFAULT_KEY, null, Objects.requireNonNull(key, "key")));
    }

    /**
     * Permits each element or subscription costs.
     *
     * @throws IllegalArgumentException if it is below 1
     */
    public LimitSpec<T> cost(long permits) {
        return withCost(new CostRule<>(CostRule.positive(permits), null, null));
    }

    /** Permits each element costs, at least 1, for a Flux that is limited per element. */
    public LimitSpec<T> cost(ToLongFunction<? super T> permits) {
        return withCost(new CostRule<>(1, Objects.requireNonNull(permits, "cost"), null));
    }

    /**
     * Permits that each element or the subscription costs, read from the Reactor Context once per
     * subscription.
     */
    public LimitSpec<T> costFromContext(ToLongFunction<? super ContextView> permits) {
        return withCost(new CostRule<>(1, null, Objects.requireNonNull(permits, "cost")));
    }

    /**
     * How long one element or subscription may wait: zero never waits. A request that would wait longer is
     * denied immediately, at no cost.
     *
     * @throws IllegalArgumentException if it is negative
     */
    public LimitSpec<T> maxWait(Duration maxWait) {
        if (Objects.requireNonNull(maxWait, "maxWait").isNegative()) {
            throw new IllegalArgumentException("maxWait must not be negative, was " + maxWait);
        }
        return new LimitSpec<>(key, cost, maxWait, denial, maxHeld, perSubscription, charge);
    }

    /** Never waits; a denial is a {@link RateLimitExceededException}. */
    public LimitSpec<T> reject() {
        return new LimitSpec<>(key, cost, Duration.ZERO, Denial.error(), maxHeld, perSubscription, charge);
    }

    /**
     * A denied element goes to the discard hook and the stream goes on; a denied subscription completes
     * empty. Never waits unless {@link #maxWait} is given.
     */
    public LimitSpec<T> drop() {
        return withDenial(new Denial<>((element, denied) -> null, denied -> Mono.empty(), null));
    }

    /**
     * Like {@link #drop()}, and passes each element to {@code onDropped} before it goes to the discard hook.
     */
    public LimitSpec<T> drop(BiConsumer<? super T, ? super Decision> onDropped) {
        Objects.requireNonNull(onDropped, "onDropped");
        return withElementDenial((element, denied) -> {
            onDropped.accept(element, denied);
            return null;
        });
    }

    /**
     * A denied subscription continues with another Publisher: for a Mono, which takes its first element,
     * and for a Flux with {@link #perSubscription()}. Never waits unless {@link #maxWait} is given.
     */
    public LimitSpec<T> fallback(Function<? super Decision, ? extends Publisher<? extends T>> fallback) {
        Objects.requireNonNull(fallback, "fallback");
        return withDenial(new Denial<>(
                null, denied -> Objects.requireNonNull(fallback.apply(denied), "fallback returned null"), null));
    }

    /**
     * A denied element is replaced, for a Flux that is limited per element. Never waits unless {@link
     * #maxWait} is given. The denied element goes to the discard hook, unless it is what is returned.
     */
    public LimitSpec<T> fallback(BiFunction<? super T, ? super Decision, ? extends T> fallback) {
        Objects.requireNonNull(fallback, "fallback");
        return withElementDenial(
                (element, denied) -> Objects.requireNonNull(fallback.apply(element, denied), "fallback returned null"));
    }

    /**
     * Elements of other keys overtake those that wait; elements of one key stay in order. At most {@code
     * maxHeld} elements are held, and no more than downstream requested.
     *
     * @throws IllegalArgumentException if it is below 1
     */
    public LimitSpec<T> unordered(int maxHeld) {
        if (maxHeld < 1) {
            throw new IllegalArgumentException("maxHeld must be positive, was " + maxHeld);
        }
        return new LimitSpec<>(key, cost, maxWait, denial, OptionalInt.of(maxHeld), perSubscription, charge);
    }

    /**
     * Limits the subscription of a Flux instead of its elements: the source is subscribed once it is allowed.
     */
    public LimitSpec<T> perSubscription() {
        return new LimitSpec<>(key, cost, maxWait, denial, maxHeld, true, charge);
    }

    /**
     * Charges the call by how it ended, for a Mono and for a Flux with {@link #perSubscription()}. The
     * {@linkplain #cost(long) cost} is reserved before the source is subscribed, so that concurrent calls
     * cannot all slip through. When the call has ended it is settled by what {@code permits} returns: 0
     * refunds everything, more than the cost is charged without a request. A Mono ends with its value.
     *
     * <p>If the function throws or returns less than 0, the reserved permits stay spent, and the stream
     * fails.
     *
     * @param permits how many permits the call costs, at least 0; also called for cancelled calls, unless
     *     {@link #giveBackOnCancel()}
     */
    public LimitSpec<T> charge(ToLongFunction<? super Outcome<T>> permits) {
        return withCharge(new ChargeRule<>(null, Objects.requireNonNull(permits, "permits"), charge.cancelIsFree()));
    }

    /** {@link #charge Charges} the cost of calls whose outcome counts, and nothing for the others. */
    public LimitSpec<T> chargeWhen(Predicate<? super Outcome<T>> counts) {
        Objects.requireNonNull(counts, "counts");
        return charge(ended -> counts.test(ended) ? ended.reserved() : 0);
    }

    /**
     * Counts failures only: a call that completes costs nothing. A cancelled call stays charged, because it
     * may have failed, unless {@link #giveBackOnCancel()}.
     */
    public LimitSpec<T> chargeOnError() {
        return chargeOnError(any -> true);
    }

    /** Like {@link #chargeOnError()}, for failures that count. */
    public LimitSpec<T> chargeOnError(Predicate<? super Throwable> counts) {
        Objects.requireNonNull(counts, "counts");
        return chargeWhen(ended -> ended.kind() == Outcome.Kind.CANCELLED
                || ended.error().filter(counts).isPresent());
    }

    /**
     * Counts successes only: a call that fails costs nothing. A cancelled call stays charged, unless {@link
     * #giveBackOnCancel()}.
     */
    public LimitSpec<T> chargeOnSuccess() {
        return chargeWhen(ended -> ended.kind() != Outcome.Kind.FAILED);
    }

    /**
     * With {@link #charge} and the methods built on it: a cancelled call costs nothing. A caller that cancels
     * before it gets the outcome can then try as often as it likes.
     */
    public LimitSpec<T> giveBackOnCancel() {
        return withCharge(new ChargeRule<>(charge.ofElement(), charge.ofOutcome(), true));
    }

    /**
     * Charges a stream by what it carries, while it runs: bytes, the tokens of a language model. A Flux is
     * limited {@linkplain #perSubscription() per subscription}.
     *
     * <pre>{@code
     * answer.transform(limitRate(limiter, spec -> spec.key("tenant").cost(500).chargeElements(Chunk::tokens)));
     * }</pre>
     *
     * <p>The {@linkplain #cost(long) cost} is an estimate of the whole stream, and is reserved before the source
     * is subscribed. Then elements pass without delay, and are counted. If more is spent than reserved, it is
     * charged without a request, a quarter of the estimate at a time, and may overdraw the key, so that other
     * requests wait. At most one such call to the store is in flight. When the stream completes, fails or is
     * cancelled, the difference is settled to the permit: elements that were passed on are paid for, others are
     * not. A Mono is settled when its value arrives.
     *
     * <p>No signal waits for the store. Settling begins before the end is passed on, and continues by itself if
     * the state is not in this process; {@link io.github.reactorratelimit.RateLimiter#close} waits for it.
     *
     * @param permits permits each element costs, perhaps 0; a cost below 0, or an exception, ends the stream with
     *     an error
     */
    public LimitSpec<T> chargeElements(ToLongFunction<? super T> permits) {
        return perSubscription()
                .withCharge(new ChargeRule<>(Objects.requireNonNull(permits, "permits"), null, charge.cancelIsFree()));
    }

    private LimitSpec<T> withCharge(ChargeRule<T> charge) {
        return new LimitSpec<>(key, cost, maxWait, denial, maxHeld, perSubscription, charge);
    }

    private LimitSpec<T> withKey(KeyRule<T> key) {
        return new LimitSpec<>(key, cost, maxWait, denial, maxHeld, perSubscription, charge);
    }

    private LimitSpec<T> withCost(CostRule<T> cost) {
        return new LimitSpec<>(key, cost, maxWait, denial, maxHeld, perSubscription, charge);
    }

    private LimitSpec<T> withElementDenial(BiFunction<? super T, ? super Decision, ? extends T> ofElement) {
        return withDenial(new Denial<>(ofElement, null, null));
    }

    private LimitSpec<T> withDenial(Denial<T> denial) {
        return new LimitSpec<>(key, cost, maxWait, denial, maxHeld, perSubscription, charge);
    }

    /** The maximum wait that was given, or else what the denial implies. */
    Duration effectiveMaxWait() {
        if (maxWait != null) {
            return maxWait;
        }
        return denial.isError() ? UNBOUNDED : Duration.ZERO;
    }
}
