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

    private final KeyRule<T> key;
    private final CostRule<T> cost;
    private final @Nullable Duration maxWait;
    private final Denial<T> denial;
    private final OptionalInt maxHeld;
    private final boolean perSubscription;
    private final ChargeRule.ByOutcome<T> outcome;

    private LimitSpec(
            KeyRule<T> key,
            CostRule<T> cost,
            @Nullable Duration maxWait,
            Denial<T> denial,
            OptionalInt maxHeld,
            boolean perSubscription,
            ChargeRule.ByOutcome<T> outcome) {
        this.key = key;
        this.cost = cost;
        this.maxWait = maxWait;
        this.denial = denial;
        this.maxHeld = maxHeld;
        this.perSubscription = perSubscription;
        this.outcome = outcome;
    }

    static <T> LimitSpec<T> defaults() {
        return new LimitSpec<>(
                new KeyRule.Constant<>(DEFAULT_KEY),
                new CostRule.Constant<>(1),
                null,
                new Denial.Fail<>(null),
                OptionalInt.empty(),
                false,
                new ChargeRule.ByOutcome<>(null, false));
    }

    /**
     * One key for the whole stream.
     *
     * @throws IllegalArgumentException if it is empty
     */
    public LimitSpec<T> key(String key) {
        return withKey(new KeyRule.Constant<>(key));
    }

    /** The key of each element, for a Flux that is limited per element. It may be called on any thread. */
    public LimitSpec<T> key(Function<? super T, String> key) {
        return withKey(new KeyRule.OfElement<>(key));
    }

    /** The key of a subscriber, read from its Reactor Context once per subscription. */
    public LimitSpec<T> keyFromContext(Function<? super ContextView, String> key) {
        return withKey(new KeyRule.OfContext<>(key));
    }

    /**
     * Permits each element or subscription costs.
     *
     * @throws IllegalArgumentException if it is below 1
     */
    public LimitSpec<T> cost(long permits) {
        return withCost(new CostRule.Constant<>(permits));
    }

    /** Permits each element costs, at least 1, for a Flux that is limited per element. */
    public LimitSpec<T> cost(ToLongFunction<? super T> permits) {
        return withCost(new CostRule.OfElement<>(permits));
    }

    /**
     * Permits that each element or the subscription costs, read from the Reactor Context once per
     * subscription.
     */
    public LimitSpec<T> costFromContext(ToLongFunction<? super ContextView> permits) {
        return withCost(new CostRule.OfContext<>(permits));
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
        return new LimitSpec<>(key, cost, maxWait, denial, maxHeld, perSubscription, outcome);
    }

    /** Never waits; a denial is a {@link RateLimitExceededException}. */
    public LimitSpec<T> reject() {
        return new LimitSpec<>(key, cost, Duration.ZERO, new Denial.Fail<>(null), maxHeld, perSubscription, outcome);
    }

    /**
     * A denied element goes to the discard hook and the stream goes on; a denied subscription completes
     * empty. Never waits unless {@link #maxWait} is given.
     */
    public LimitSpec<T> drop() {
        return withDenial(new Denial.Drop<>(null));
    }

    /**
     * Like {@link #drop()}, and passes each element to {@code onDropped} before it goes to the discard hook.
     */
    public LimitSpec<T> drop(BiConsumer<? super T, ? super Decision> onDropped) {
        return withDenial(new Denial.Drop<>(Objects.requireNonNull(onDropped, "onDropped")));
    }

    /**
     * A denied subscription continues with another Publisher: for a Mono, which takes its first element,
     * and for a Flux with {@link #perSubscription()}. Never waits unless {@link #maxWait} is given.
     */
    public LimitSpec<T> fallback(Function<? super Decision, ? extends Publisher<? extends T>> fallback) {
        return withDenial(new Denial.Switch<>(Objects.requireNonNull(fallback, "fallback")));
    }

    /**
     * A denied element is replaced, for a Flux that is limited per element. Never waits unless {@link
     * #maxWait} is given. The denied element goes to the discard hook, unless it is what is returned.
     */
    public LimitSpec<T> fallback(BiFunction<? super T, ? super Decision, ? extends T> fallback) {
        return withDenial(new Denial.Replace<>(Objects.requireNonNull(fallback, "fallback")));
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
        return new LimitSpec<>(key, cost, maxWait, denial, OptionalInt.of(maxHeld), perSubscription, outcome);
    }

    /**
     * Limits the subscription of a Flux instead of its elements: the source is subscribed once it is allowed.
     */
    public LimitSpec<T> perSubscription() {
        return new LimitSpec<>(key, cost, maxWait, denial, maxHeld, true, outcome);
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
        return withOutcome(Objects.requireNonNull(permits, "permits"), outcome.cancelIsFree());
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
        return withOutcome(outcome.charge(), true);
    }

    private LimitSpec<T> withOutcome(@Nullable ToLongFunction<? super Outcome<T>> charge, boolean cancelIsFree) {
        ChargeRule.ByOutcome<T> rule = new ChargeRule.ByOutcome<>(charge, cancelIsFree);
        return new LimitSpec<>(key, cost, maxWait, denial, maxHeld, perSubscription, rule);
    }

    private LimitSpec<T> withKey(KeyRule<T> key) {
        return new LimitSpec<>(key, cost, maxWait, denial, maxHeld, perSubscription, outcome);
    }

    private LimitSpec<T> withCost(CostRule<T> cost) {
        return new LimitSpec<>(key, cost, maxWait, denial, maxHeld, perSubscription, outcome);
    }

    private LimitSpec<T> withDenial(Denial<T> denial) {
        return new LimitSpec<>(key, cost, maxWait, denial, maxHeld, perSubscription, outcome);
    }

    KeyRule<T> keyRule() {
        return key;
    }

    CostRule<T> costRule() {
        return cost;
    }

    Denial<T> denial() {
        return denial;
    }

    /** The maximum wait that was given, or else what the denial implies. */
    Duration effectiveMaxWait() {
        if (maxWait != null) {
            return maxWait;
        }
        return denial instanceof Denial.Fail ? UNBOUNDED : Duration.ZERO;
    }

    /** Elements that may be held if others may overtake; empty if the order is kept. */
    OptionalInt maxHeld() {
        return maxHeld;
    }

    ChargeRule.ByOutcome<T> outcomeRule() {
        return outcome;
    }

    boolean isPerSubscription() {
        return perSubscription;
    }
}
